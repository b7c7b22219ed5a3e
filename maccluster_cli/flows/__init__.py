"""Four stories, look, change, job and measure: the only rooms that know what comes after what."""
