"""CSV (RFC 4180) with Python's own reader: two columns of each record as tab-separated lines."""
import csv
import sys

ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
with open(sys.argv[1], newline="") as lines:
    for record in csv.reader(lines):
        print(record[1].translate(ESCAPES), record[2].translate(ESCAPES), sep="\t")
