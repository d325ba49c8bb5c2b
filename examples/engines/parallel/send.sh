#!/bin/sh
# send.sh LETTERS: sends a letter for each line of a file, ADDRESS<tab>TEXT. Its session is the name of the file.
# The exit code is the number of letters that failed.
exec parallel --arg-file "$1" --colsep '\t' --jobs 4 --retries 3 --delay 0.1 --timeout 120 --termseq TERM,15000,KILL \
  oneact call send_letter to={1} text={2} --root "${ONEACT_ROOT:?}" --session "$(basename "$1")" --reply result
