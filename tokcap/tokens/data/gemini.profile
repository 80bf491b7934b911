tokcap profile 1
name gemini
base o200k_base
source fitted to the vocabulary of Gemma 3, with which the local tokenizer of the Google Gen AI SDK counts for Gemini models; with that file, tokcap tokenizer add counts exactly as that SDK does
mean_error 25
most_error 110
most_above 96
fitted_texts 319
held_out_texts 294
digest 8b4234d9c6ded331
kind 477 99 arabic
kind 649 169 armenian
kind 583 13 blank
kind 476 0 blank 1
kind 846 0 block 0900
kind 513 38 block 0980
kind 893 17 block 0a80
kind 753 0 block 0b80
kind 485 34 block 0e00
kind 630 71 block 1080
kind 733 0 block 1780
kind 1000 0 capital 1
kind 814 19 cyrillic
kind 174 989 digits
kind 620 0 fragment
kind 1006 0 greek
kind 880 0 han
kind 977 0 hangul
kind 998 47 hebrew
kind 681 0 kana
kind 580 79 latin
kind 728 0 lower 1
kind 960 0 more arabic
kind 799 0 more cyrillic
kind 1169 0 newline
kind 777 0 newline 1
kind 1217 0 other
kind 1217 0 other scripts
kind 758 0 part capital 2
kind 1743 0 part capital 3
kind 995 0 part capital 4-6
kind 639 0 part capital 7+
kind 954 0 part lower 2
kind 878 0 part lower 3
kind 769 0 part lower 4-6
kind 600 0 part lower 7+
kind 1168 0 part upper 2
kind 724 0 part upper 3
kind 701 0 part upper 4-6
kind 1093 0 part upper 7+
kind 798 0 sign 1
kind 1707 68 sign and word
kind 1053 23 signs
kind 1805 124 signs and newline
kind 1077 0 symbols
kind 1314 0 word capital 1
kind 1348 0 word capital 2
kind 1463 0 word capital 3
kind 1251 0 word capital 4-6
kind 1342 0 word capital 7+
kind 1735 0 word lower 1
kind 940 0 word lower 2
kind 956 0 word lower 3
kind 957 0 word lower 4-6
kind 1189 0 word lower 7+
kind 867 0 word upper 2
kind 1209 0 word upper 3
kind 1103 0 word upper 4-6
kind 1285 0 word upper 7+
