"""Questions over many sessions, answered from the index: usage over time, trends. Reads totals and facts, prints nothing."""
