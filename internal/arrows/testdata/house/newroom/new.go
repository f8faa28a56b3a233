package newroom // want "in no room"
