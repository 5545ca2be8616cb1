# Ask a Hedgerow server from R. Needs R 4.1 or newer and the packages httr2 (0.2.2 or newer) and jsonlite.
#   source("hedgerow.R")
#   server <- hedgerow("https://hedgerow.example")   # the token is in HEDGEROW_TOKEN, or in the file HEDGEROW_TOKEN_FILE
#   hedgerow_table(server, "people", "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex")

# A server. The token is kept in the object, which does not print it.
hedgerow <- function(url, token = NULL) {
  for (package in c("httr2", "jsonlite")) {
    if (!requireNamespace(package, quietly = TRUE)) stop("install.packages(\"", package, "\") first")
  }
  if (is.null(token)) token <- Sys.getenv("HEDGEROW_TOKEN")
  file <- Sys.getenv("HEDGEROW_TOKEN_FILE")
  if (!nzchar(token) && nzchar(file)) token <- trimws(readLines(file, n = 1L, warn = FALSE))
  if (!nzchar(token)) stop("there is no token: set HEDGEROW_TOKEN, or HEDGEROW_TOKEN_FILE")
  structure(list(url = sub("/+$", "", url), token = token), class = "hedgerow")
}

print.hedgerow <- function(x, ...) {
  cat("A Hedgerow server at", x$url, "\n")
  invisible(x)
}

# The data sets that the token opens, one a row, with what is left of their budgets.
hedgerow_datasets <- function(server) {
  found <- .hedgerow_call(server, "datasets")$datasets
  left <- vapply(found, function(each) each$account$left, numeric(1))
  data.frame(
    name = .hedgerow_texts(found, "name"), title = .hedgerow_texts(found, "title"),
    status = .hedgerow_texts(found, "status"), left = left, unit = .hedgerow_texts(found, "unit")
  )
}

# The columns of a data set, with what is known of them.
hedgerow_columns <- function(server, dataset) {
  found <- .hedgerow_call(server, .hedgerow_at(dataset))$attributes
  data.frame(
    name = .hedgerow_texts(found, "name"), kind = .hedgerow_texts(found, "kind"),
    size = vapply(found, function(each) as.integer(each$size), integer(1))
  )
}

# Answers of conditions, one a row: value, and the ends of an interval, NA where there is none. A question that the data
# answer costs budget: `charged`. It is asked once, however often the connection fails.
hedgerow_ask <- function(server, dataset, where, confidence = 0.95) {
  body <- list(queries = lapply(where, function(each) list(where = each)), confidence = confidence)
  found <- .hedgerow_call(server, .hedgerow_at(dataset, "queries"), body)$answers
  data.frame(
    where = where, value = .hedgerow_numbers(found, "value"), low = .hedgerow_numbers(found, "low"),
    high = .hedgerow_numbers(found, "high"), source = .hedgerow_texts(found, "source"),
    charged = .hedgerow_numbers(found, "charged"), covers = .hedgerow_texts(found, "covers")
  )
}

# The answer of a statement as a table: each aggregate is followed by the ends of its interval. What the intervals cover,
# where answers came from and what they cost are attributes. With free = TRUE it is answered from what is known alone.
hedgerow_table <- function(server, dataset, sql, confidence = 0.95, free = FALSE) {
  body <- list(sql = sql, confidence = confidence, free = free)
  found <- .hedgerow_call(server, .hedgerow_at(dataset, "tables"), body, keyed = !free)
  columns <- lapply(seq_along(found$columns), function(at) {
    cells <- lapply(found$rows, function(row) if (is.null(row[[at]])) NA else row[[at]])
    unlist(cells)
  })
  names(columns) <- unlist(found$columns)
  table <- as.data.frame(columns, check.names = FALSE, optional = TRUE)
  attr(table, "covers") <- found$covers
  attr(table, "sources") <- unlist(found$sources)
  attr(table, "charged") <- found$charged
  table
}

# The most that a statement can cost; nothing is asked.
hedgerow_price <- function(server, dataset, sql) {
  .hedgerow_call(server, .hedgerow_at(dataset, "price"), list(sql = sql), keyed = FALSE)$price
}

# Synthetic records of the hypothesis: free.
hedgerow_records <- function(server, dataset, n = NULL) {
  path <- .hedgerow_at(dataset, "records")
  request <- httr2::req_url_query(.hedgerow_request(server, path), format = "csv")
  if (!is.null(n)) request <- httr2::req_url_query(request, n = format(n, scientific = FALSE))
  text <- httr2::resp_body_string(.hedgerow_perform(request))
  utils::read.csv(text = text, check.names = FALSE, na.strings = character(), colClasses = NA)
}

.hedgerow_at <- function(dataset, what = NULL) {
  paste(c("datasets", utils::URLencode(dataset, reserved = TRUE), what), collapse = "/")
}

.hedgerow_call <- function(server, path, body = NULL, keyed = TRUE) {
  request <- .hedgerow_request(server, path)
  if (!is.null(body)) {
    request <- httr2::req_body_json(request, body, auto_unbox = TRUE, digits = NA)
    if (keyed) request <- httr2::req_headers(request, "Idempotency-Key" = .hedgerow_key())
  }
  httr2::resp_body_json(.hedgerow_perform(request))
}

.hedgerow_request <- function(server, path) {
  request <- httr2::request(paste(server$url, "v1", path, sep = "/"))
  request <- httr2::req_auth_bearer_token(request, server$token)
  httr2::req_error(request, body = function(answer) {
    told <- tryCatch(httr2::resp_body_json(answer, check_type = FALSE), error = function(e) list())
    unlist(c(told$detail, if (!is.null(told$remedy)) paste("Remedy:", told$remedy)))
  })
}

# A busy server, or a connection that fails, is tried again under the same key: nothing is asked twice.
.hedgerow_perform <- function(request) {
  busy <- function(answer) httr2::resp_status(answer) %in% c(429L, 503L)
  request <- httr2::req_retry(request, max_tries = 4L, is_transient = busy)
  for (pause in c(0.4, 1.2, 3)) {
    done <- tryCatch(httr2::req_perform(request), error = identity)
    if (!inherits(done, "error")) return(done)
    if (inherits(done, "httr2_http")) stop(done)
    Sys.sleep(pause)
  }
  httr2::req_perform(request)
}

.hedgerow_key <- function() {
  paste0(format(Sys.time(), "%Y%m%d%H%M%OS6"), "-", Sys.getpid(), "-", basename(tempfile("")))
}

.hedgerow_texts <- function(found, name) {
  vapply(found, function(each) if (is.null(each[[name]])) NA_character_ else as.character(each[[name]]), character(1))
}

.hedgerow_numbers <- function(found, name) {
  vapply(found, function(each) if (is.null(each[[name]])) NA_real_ else as.numeric(each[[name]]), numeric(1))
}
