package load

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tenure/client"
)

// Resume says where a run begins: at the first batch, or where an earlier run ended.
type Resume struct {
	Run  string // names the idempotency keys
	Base uint64 // no batch in doubt was sent for the first time with a lower one
	Next int    // the first batch that was never sent
	Sum  Sum    // of the batches before Next, so that nobody resumes with another file
	Left []Left // batches before Next to send again, ascending; at most as many as were in flight
}

// Left is an unsettled batch.
type Left struct {
	N     int
	Key   int  // how many keys of the batch were used up by refusals: a refusal is remembered like any result
	Doubt bool // it may have been applied under that key, or may still be
}

// NewResume returns the Resume of a new run, from the beginning.
func NewResume() Resume { return Resume{Run: uuid.NewString()} }

// left reports whether batch n is one of r.Left.
func (r *Resume) left(n int) bool {
	return slices.ContainsFunc(r.Left, func(l Left) bool { return l.N == n })
}

// once returns the idempotency key and base of the next try of a batch.
func (r *Resume) once(l Left) client.Once {
	once := client.Once{Key: fmt.Sprintf("%s-%d-%d", r.Run, l.N, l.Key), New: !l.Doubt}
	if l.Doubt {
		once.Base = r.Base
	}
	return once
}

// String returns the text of r, which ParseResume parses.
func (r *Resume) String() string {
	left := make([]string, len(r.Left))
	for i, l := range r.Left {
		left[i] = fmt.Sprintf("%d.%d", l.N, l.Key)
		if l.Doubt {
			left[i] += "u"
		}
	}
	return fmt.Sprintf("%s:%d:%d:%x:%s", r.Run, r.Base, r.Next, r.Sum, strings.Join(left, ","))
}

var errResume = errors.New("this is not what an earlier import has printed")

// ParseResume parses a text of String.
func ParseResume(s string) (Resume, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 5 || uuid.Validate(parts[0]) != nil || len(parts[0]) != 36 {
		return Resume{}, errResume
	}
	r := Resume{Run: parts[0]}
	for _, text := range strings.FieldsFunc(parts[4], func(c rune) bool { return c == ',' }) {
		var l Left
		text, l.Doubt = strings.CutSuffix(text, "u")
		if n, err := fmt.Sscanf(text, "%d.%d", &l.N, &l.Key); n != 2 || err != nil {
			return Resume{}, errResume
		}
		r.Left = append(r.Left, l)
	}
	if n, err := hex.Decode(r.Sum[:], []byte(parts[3][:min(len(parts[3]), 2*len(r.Sum))])); err != nil ||
		n != len(r.Sum) {
		return Resume{}, errResume
	}
	var err, err2 error
	r.Base, err = strconv.ParseUint(parts[1], 10, 64)
	r.Next, err2 = strconv.Atoi(parts[2])
	if err != nil || err2 != nil || r.String() != s || !r.valid() {
		return Resume{}, errResume
	}
	return r, nil
}

// valid reports whether a run could have ended with r.
func (r *Resume) valid() bool {
	for i, l := range r.Left {
		if l.N < 0 || l.Key < 0 || l.N >= r.Next || i > 0 && l.N <= r.Left[i-1].N || l.Doubt && r.Base == 0 {
			return false
		}
	}
	return r.Next >= 0 && len(r.Left) <= 2*Concurrency
}
