"""A data set to try the server with: seven columns of Adult, which are public (see README.md in this folder)."""
