tokcap profile 1
name claude-4.6
base o200k_base
source published measurements with count_tokens of Claude up to 4.6: about 1.18 x o200k_base on average; figures by kind of text are not published
mean_error 100
most_error 200
most_above 200
fitted_texts 0
held_out_texts 0
digest 36cf3292a1e18220
kind 1180 0 arabic
kind 1180 0 armenian
kind 1270 0 blank
kind 1000 0 blank 1
kind 1000 0 capital 1
kind 1180 0 cyrillic
kind 1270 0 digits
kind 1180 0 fragment
kind 1180 0 greek
kind 1180 0 han
kind 1180 0 hangul
kind 1180 0 hebrew
kind 1180 0 kana
kind 1270 0 latin
kind 1000 0 lower 1
kind 1180 0 more arabic
kind 1180 0 more cyrillic
kind 1270 0 newline
kind 1000 0 newline 1
kind 1270 0 other
kind 1180 0 other scripts
kind 1270 0 part capital 2
kind 1270 0 part capital 3
kind 1270 0 part capital 4-6
kind 1270 0 part capital 7+
kind 1270 0 part lower 2
kind 1270 0 part lower 3
kind 1270 0 part lower 4-6
kind 1270 0 part lower 7+
kind 1270 0 part upper 2
kind 1270 0 part upper 3
kind 1270 0 part upper 4-6
kind 1270 0 part upper 7+
kind 1000 0 sign 1
kind 1270 0 sign and word
kind 1270 0 signs
kind 1270 0 signs and newline
kind 1180 0 symbols
kind 1270 0 word capital 1
kind 1270 0 word capital 2
kind 1270 0 word capital 3
kind 1270 0 word capital 4-6
kind 1270 0 word capital 7+
kind 1270 0 word lower 1
kind 1270 0 word lower 2
kind 1270 0 word lower 3
kind 1270 0 word lower 4-6
kind 1270 0 word lower 7+
kind 1270 0 word upper 2
kind 1270 0 word upper 3
kind 1270 0 word upper 4-6
kind 1270 0 word upper 7+
