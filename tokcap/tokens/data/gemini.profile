tokcap profile 1
name gemini
base o200k_base
source fitted to the vocabulary of Gemma 3, with which the local tokenizer of the Google Gen AI SDK counts for Gemini models; with that file, tokcap tokenizer add counts exactly as that SDK does
mean_error 26
most_error 110
most_above 96
fitted_texts 319
held_out_texts 294
digest 21b553d350ca7a78
kind 558 80 arabic
kind 648 170 armenian
kind 586 13 blank
kind 474 0 blank 1
kind 846 0 block 0900
kind 511 38 block 0980
kind 890 17 block 0a80
kind 754 0 block 0b80
kind 485 34 block 0e00
kind 628 72 block 1080
kind 733 0 block 1780
kind 1000 0 capital 1
kind 742 27 cyrillic
kind 174 989 digits
kind 620 0 fragment
kind 1006 0 greek
kind 880 0 han
kind 977 0 hangul
kind 995 47 hebrew
kind 680 0 kana
kind 579 79 latin
kind 727 0 lower 1
kind 1168 0 newline
kind 779 0 newline 1
kind 1217 0 other
kind 1217 0 other scripts
kind 763 0 part capital 2
kind 1744 0 part capital 3
kind 990 0 part capital 4-6
kind 634 0 part capital 7+
kind 958 0 part lower 2
kind 874 0 part lower 3
kind 766 0 part lower 4-6
kind 609 0 part lower 7+
kind 1162 0 part upper 2
kind 731 0 part upper 3
kind 704 0 part upper 4-6
kind 1097 0 part upper 7+
kind 800 0 sign 1
kind 1710 67 sign and word
kind 1053 22 signs
kind 1814 122 signs and newline
kind 1074 0 symbols
kind 1317 0 word capital 1
kind 1349 0 word capital 2
kind 1481 0 word capital 3
kind 1252 0 word capital 4-6
kind 1339 0 word capital 7+
kind 1737 0 word lower 1
kind 941 0 word lower 2
kind 954 0 word lower 3
kind 956 0 word lower 4-6
kind 1187 0 word lower 7+
kind 858 0 word upper 2
kind 1226 0 word upper 3
kind 1106 0 word upper 4-6
kind 1280 0 word upper 7+
