"""The interactive server: data sets that analysts ask over HTTP for weeks, a durable store, a web page."""
