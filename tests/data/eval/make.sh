# A table of the numbers, and a picture: a PNG image of one black pixel. In sh, for a bare system has nothing else.
printf 'number\n' >numbers.csv
printf '%s\n' "$@" >>numbers.csv
printf '\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\000\001\000\000\000\001\010\000\000\000\000:~\233U\000\000\000\012IDATx\332c`\000\000\000\002\000\001\345\047\336\374\000\000\000\000IEND\256B`\202' >chart.png
echo "$# numbers"
