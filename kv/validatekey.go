package kv

import (
	"errors"
	"fmt"
	"math"
	"strconv"
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

// ParseFence splits NAME:TOKEN. The token is what follows the last colon, since names may have colons too. It is a
// number from 1 up: 0 would never be larger than one that was seen.
func ParseFence(text string) (name string, token uint64, err error) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return "", 0, errors.New("write it like lease/NAME:TOKEN or kv/KEY:TOKEN")
	}
	token, err = strconv.ParseUint(text[at+1:], 10, 64)
	if err != nil || token == 0 {
		return "", 0, fmt.Errorf("what follows the last colon must be a token, a number from 1 to %d", uint64(math.MaxUint64))
	}
	return text[:at], token, nil
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
