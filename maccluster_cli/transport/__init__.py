"""The door to machines: the only room that opens connections and starts processes."""
