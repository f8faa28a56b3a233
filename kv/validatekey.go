package kv

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The kinds of fences, and with what their names start.
const (
	leaseFence = "lease/"
	kvFence    = "kv/"
)

// ValidateFence reports why name cannot name a fence: `lease/` or `kv/` and what could be a key can. Errors wrap
// ErrCommand.
func ValidateFence(name string) error {
	for _, kind := range [...]string{leaseFence, kvFence} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			return ValidateKey(rest)
		}
	}
	return fmt.Errorf("%w: the fence %.40q starts neither with %q nor with %q", ErrCommand, name, leaseFence, kvFence)
}

// ValidateKey reports why key cannot name an entry: 1 to MaxKeyBytes bytes of UTF-8 can. Errors wrap ErrCommand.
func ValidateKey(key string) error {
	if key == "" {
		return errNoKey
	}
	return ValidatePrefix(key)
}

// ValidatePrefix is ValidateKey, but lets the empty prefix pass, which every key has.
func ValidatePrefix(prefix string) error {
	if len(prefix) > MaxKeyBytes {
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed", ErrCommand, len(prefix), MaxKeyBytes)
	}
	if !utf8.ValidString(prefix) {
		return fmt.Errorf("%w: the key is not UTF-8", ErrCommand)
	}
	return nil
}
