"""The paper's tables and figures, one module each; every function takes a study and answers with a table."""
