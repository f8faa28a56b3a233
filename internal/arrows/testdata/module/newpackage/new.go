package newroom // want "is not listed"
