// Package records reads and writes keys as text: what kvctl export prints and kvctl import reads.
//
//	record.go  a record, and what it may hold
//	write.go   Writer
//	read.go    Reader: tells the formats apart
//	lines.go   NDJSON: a JSON object a line
//	array.go   the JSON array of consul kv export, one element at a time
//
// Neither holds more than one record in memory, whatever the size of the file.
package records

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"tenure/api"
)

// Format is how records are written.
type Format string

// The formats.
const (
	Auto   Format = "auto"   // for a Reader: what the first character tells
	NDJSON Format = "ndjson" // a JSON object a line
	Consul Format = "consul" // the JSON array of consul kv export
)

// Record is a key with what import and export carry of it.
type Record struct {
	Key   string
	Value []byte
	Flags uint64
	TTL   time.Duration // from when it is written; 0: the key stays
}

// Validate returns an error if no cluster can hold r.
func (r *Record) Validate() error {
	switch {
	case r.Key == "":
		return errors.New("the key is empty")
	case len(r.Key) > api.MaxKeyBytes:
		return fmt.Errorf("the key %.40q… has %d bytes: a key has at most %d", r.Key, len(r.Key), api.MaxKeyBytes)
	case !utf8.ValidString(r.Key):
		return fmt.Errorf("the key %.40q is not UTF-8", r.Key)
	case len(r.Value) > api.MaxValueBytes:
		return fmt.Errorf("key %.40q: the value has %d bytes: no cluster takes more than %d", r.Key, len(r.Value),
			api.MaxValueBytes)
	case r.TTL != 0 && r.TTL < api.MinKeyTTL:
		return fmt.Errorf("key %.40q: the time to live is %v: at least %v", r.Key, r.TTL, api.MinKeyTTL)
	}
	return nil
}

// maxBytes bounds the text of a record: the largest value as base64, with every character of the key escaped.
const maxBytes = (api.MaxValueBytes+2)/3*4 + 6*api.MaxKeyBytes + 4096
