package target

import (
	"fmt"
	"strings"
)

const (
	maxNameBytes    = 512
	maxElementBytes = 180 // short enough that every file system takes it, with a suffix
)

// CheckName returns an ErrName unless an object may have that name. A name consists of elements separated by single
// slashes; the characters of an element are A-Z a-z 0-9 - _ . = + @, and the first is not a dot. Every file system and
// every bucket accepts such a name unchanged.
func CheckName(name string) error {
	if len(name) > maxNameBytes {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are allowed", ErrName, len(name), maxNameBytes)
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "":
			return fmt.Errorf("%w: %q is empty, or begins or ends with a slash, or has two in a row", ErrName, name)
		case element[0] == '.':
			return fmt.Errorf("%w: an element of %q begins with a dot", ErrName, name)
		case len(element) > maxElementBytes:
			return fmt.Errorf("%w: an element of %q has more than %d bytes", ErrName, name, maxElementBytes)
		}
		for _, c := range []byte(element) {
			if !mayBeInName(c) {
				return fmt.Errorf("%w: %q has other characters than A-Z a-z 0-9 - _ . = + @", ErrName, name)
			}
		}
	}
	return nil
}

func mayBeInName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.=+@", c) >= 0
}
