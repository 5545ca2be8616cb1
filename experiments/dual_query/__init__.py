"""M. Gaboardi and others 2014: DualQuery, and what its runs cost."""
