package proto

import (
	"bytes"
	"fmt"
	"io"
)

// TooLarge is the error of a command that is beyond the limits. Its arguments were read and dropped, and the next
// command follows.
type TooLarge struct {
	// Name is the command's name; empty if that is what is too large.
	Name []byte
	// Bytes is what the largest argument has or, if Whole, all arguments together; at most that much is accepted.
	Bytes, Limit int64
	Whole        bool
	Args         int // how many there are, if that is too many: at most Limit are accepted
}

func (e *TooLarge) Error() string {
	if e.Args > 0 {
		return fmt.Sprintf("there are %d arguments, at most %d are accepted", e.Args, e.Limit)
	}
	if e.Whole {
		return fmt.Sprintf("the arguments have %d bytes together, at most %d are accepted", e.Bytes, e.Limit)
	}
	return fmt.Sprintf("an argument has %d bytes, at most %d are accepted", e.Bytes, e.Limit)
}

const (
	// mostDropped bounds the bytes of a command whose arguments are dropped. It is Redis's bound on an argument: beyond
	// it Redis, too, ends the connection.
	mostDropped = 512 << 20
	mostArgs    = 1 << 20 // likewise for the number of arguments
	keptName    = 128     // bytes of the name of such a command
)

// dropping is the progress of a Reader through a command that is too large.
type dropping struct {
	name    []byte
	largest int64 // bytes of the largest argument so far
	total   int64 // bytes of the arguments so far
	args    int
	skip    int64 // bytes to come of the argument that is dropped now, with its end
}

// tooLarge begins to drop a command at an argument of n bytes. The bytes before at were understood.
func (r *Reader) tooLarge(n int64, at int) {
	d := &dropping{args: len(r.spans) + r.left}
	b := r.in.unread()
	for i, s := range r.spans {
		if i == 0 {
			d.name = bytes.Clone(b[s.from:min(s.to, s.from+keptName)])
		}
		d.add(int64(s.to - s.from))
	}
	d.add(n)
	d.skip = n + int64(len(lineEnd))
	r.in.drop(at)
	r.dropping, r.spans, r.at, r.bulk = d, r.spans[:0], 0, unread
}

func (d *dropping) add(n int64) { d.largest, d.total = max(d.largest, n), d.total+n }

// drop drops what has arrived of a command that is too large.
func (r *Reader) drop() error {
	d := r.dropping
	for {
		n := min(d.skip, int64(len(r.in.unread())))
		r.in.drop(int(n))
		if d.skip -= n; d.skip > 0 {
			return errMore
		}
		if r.left--; r.left == 0 {
			r.left, r.whole = unread, true
			return nil
		}
		n, size, err := r.length(0, d.total)
		if err != nil {
			r.left++ // this argument is not begun
			return err
		}
		d.add(n)
		d.skip = n + int64(len(lineEnd))
		r.in.drop(size)
	}
}

// dropped returns the error of the command that was dropped.
func (r *Reader) dropped() *TooLarge {
	d := r.dropping
	r.dropping = nil
	e := &TooLarge{Name: d.name, Bytes: d.largest, Limit: int64(r.limits.Bulk)}
	switch {
	case d.largest > e.Limit:
	case d.total > int64(r.limits.Command):
		e.Bytes, e.Limit, e.Whole = d.total, int64(r.limits.Command), true
	default:
		e.Args, e.Limit = d.args, int64(r.limits.Args)
	}
	return e
}

// length reads the line before an argument, at offset at, and returns the argument's length and how many bytes the line
// has. total is how many bytes the arguments before it have.
func (r *Reader) length(at int, total int64) (n int64, size int, err error) {
	b := r.in.unread()
	if at == len(b) {
		return 0, 0, errMore
	}
	if b[at] != '$' {
		return 0, 0, broken("expected '$', got '%c'", printable(b[at]))
	}
	n, size, err = r.number(at, "invalid bulk length", "too big bulk count string")
	switch {
	case err != nil:
		return 0, 0, err
	case n < 0 || n > max(mostDropped, int64(r.limits.Command))-total:
		return 0, 0, broken("invalid bulk length")
	case n > strangerBulk && r.stranger():
		return 0, 0, broken("unauthenticated bulk length")
	}
	return n, size, nil
}

// ended returns the error for a source that ended: not the end between two commands if one was begun.
func (r *Reader) ended(err error) error {
	if err == io.EOF && r.left != unread {
		return io.ErrUnexpectedEOF
	}
	return err
}
