"""Tables of questions and answers: rows and a mapping of columns, or a known benchmark, → cases."""
