"""Arrays to and from other libraries."""
