# The server in a container: compose.yaml starts it with PostgreSQL, docs/server.md says how.
FROM python:3.13-slim AS build
WORKDIR /build
ENV PATH=/opt/hedgerow/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/hedgerow
# The pins first: they change less often than the source.
COPY requirements.lock ./
RUN python -m pip install --require-hashes --no-deps -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-deps --no-build-isolation '.[duckdb,postgresql,service]'
# What is compiled holds for processors like this one; on others, and where more is needed, the server compiles again.
RUN NUMBA_CACHE_DIR=/opt/compiled hedgerow warm --quiet

FROM python:3.13-slim
RUN groupadd --system --gid 10001 hedgerow \
    && useradd --system --uid 10001 --gid hedgerow --no-create-home --home-dir /var/lib/hedgerow hedgerow \
    && install --directory --owner hedgerow --group hedgerow --mode 0700 /var/lib/hedgerow /srv/tables
COPY --from=build /opt/hedgerow /opt/hedgerow
COPY --from=build --chown=hedgerow:hedgerow /opt/compiled /var/lib/hedgerow/compiled
ENV PATH=/opt/hedgerow/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/lib/hedgerow/compiled \
    HEDGEROW_STORE=/var/lib/hedgerow/hedgerow.db \
    HEDGEROW_DATA=/srv/tables \
    HEDGEROW_HOST=0.0.0.0 \
    HEDGEROW_PORT=8000
USER 10001:10001
WORKDIR /var/lib/hedgerow
VOLUME ["/var/lib/hedgerow"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/v1/health', timeout=4)"]
ENTRYPOINT ["hedgerow", "serve"]
