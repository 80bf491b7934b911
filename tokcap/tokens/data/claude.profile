tokcap profile 1
name claude
base o200k_base
source published measurements with count_tokens of Claude Opus 4.7 and 4.6 (sol.ava.dev, 2026-04-17; claudecodecamp.com): 1.18 x o200k_base up to 4.6, and from 4.7 on times 1.45 for prose in Latin script, 1.31 JSON, 1.20 to 1.29 Python, 1.15 C and Rust, 1.13 to 1.36 TypeScript, 1.34 terminal output, 1.06 UUIDs, 1.00 other scripts; the larger figure where they differ
mean_error 100
most_error 200
most_above 200
fitted_texts 0
held_out_texts 0
digest cae5747c854ef8a4
kind 1180 0 arabic
kind 1180 0 armenian
kind 1700 0 blank
kind 1000 0 blank 1
kind 1000 0 capital 1
kind 1180 0 cyrillic
kind 1600 0 digits
kind 1180 0 fragment
kind 1180 0 greek
kind 1180 0 han
kind 1180 0 hangul
kind 1180 0 hebrew
kind 1180 0 kana
kind 2000 0 latin
kind 1000 0 lower 1
kind 1180 0 more arabic
kind 1180 0 more cyrillic
kind 1300 0 newline
kind 1000 0 newline 1
kind 1800 0 other
kind 1180 0 other scripts
kind 1550 0 part capital 2
kind 1550 0 part capital 3
kind 1850 0 part capital 4-6
kind 1850 0 part capital 7+
kind 1550 0 part lower 2
kind 1550 0 part lower 3
kind 1850 0 part lower 4-6
kind 1850 0 part lower 7+
kind 1550 0 part upper 2
kind 1550 0 part upper 3
kind 1850 0 part upper 4-6
kind 1850 0 part upper 7+
kind 1000 0 sign 1
kind 1850 0 sign and word
kind 2200 0 signs
kind 2200 0 signs and newline
kind 1180 0 symbols
kind 2100 0 word capital 1
kind 2100 0 word capital 2
kind 2100 0 word capital 3
kind 2100 0 word capital 4-6
kind 2100 0 word capital 7+
kind 2100 0 word lower 1
kind 2100 0 word lower 2
kind 2100 0 word lower 3
kind 2100 0 word lower 4-6
kind 2100 0 word lower 7+
kind 2100 0 word upper 2
kind 2100 0 word upper 3
kind 2100 0 word upper 4-6
kind 2100 0 word upper 7+
