"""The paper's tables and figures, one module each: functions from a study to a table."""
