package proto

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"tenure/internal/wrongport"
)

// Limits bound one command.
type Limits struct {
	Args    int // arguments, the name of the command included; at most mostArgs
	Bulk    int // bytes of an argument
	Command int // bytes of all arguments together
}

// The bounds of Redis on what comes before a client has said who it is, and on lines.
const (
	strangerArgs = 10
	strangerBulk = 16 << 10
	maxLineBytes = 64 << 10 // an inline command, or a number
)

// Validate returns an error unless a command fits.
func (l Limits) Validate() error {
	if l.Args < 1 || l.Bulk < 1 || l.Command < l.Bulk {
		return fmt.Errorf("proto: limits %+v: each must be at least 1, and a command have space for its largest argument", l)
	}
	return nil
}

// Error is what is wrong with what a connection sent. Where the next command begins is not known then: the error is
// answered, and the connection closed.
type Error struct {
	Text   string // of the answer, behind "ERR "
	Silent bool   // hang up without an answer: this is no client of Redis, but perhaps a browser that was tricked
	// Speaks is the protocol of a client at the wrong port, which is known from the first bytes of a connection.
	Speaks wrongport.Protocol
}

func (e *Error) Error() string { return e.Text }

func broken(format string, args ...any) error {
	return &Error{Text: "Protocol error: " + fmt.Sprintf(format, args...)}
}

// errMore means that a command is not whole yet.
var errMore = errors.New("proto: more bytes are needed")

// Reader splits a stream into commands. It is used by one goroutine.
type Reader struct {
	limits Limits
	// Stranger reports whether the client has not said who it is, and has to: then its commands must be small. It is asked
	// about a command that is not. Nil: nobody has to.
	Stranger func() bool

	in    buffer
	begun bool   // a command has come
	taken uint64 // commands that Next has returned
	whole bool   // the command at in's beginning is, and spans are its arguments
	at    int    // behind in's beginning: how far the command was understood
	left  int    // arguments of it to come; unread before its beginning is understood
	bulk  int    // bytes of the argument that begins at at; unread before its length is
	total int    // bytes of its arguments
	spans []span
	// dropping is set within a command that is too large, and until Next has returned its error.
	dropping *dropping
	texts    []byte // arguments of an inline command, without their quotes
	args     [][]byte
}

// span is an argument, in bytes behind the beginning of the buffer.
type span struct{ from, to int }

// unread stands for a number that was not read yet.
const unread = -1

// NewReader returns a Reader of src.
func NewReader(src io.Reader, l Limits) *Reader {
	return &Reader{limits: l, in: buffer{src: src}, left: unread, bulk: unread}
}

// Next returns the next command, which has at least one argument. The bytes are good until the next call. After a
// *TooLarge the Reader goes on behind that command. Other errors are an *Error, io.EOF between commands,
// io.ErrUnexpectedEOF within one, or that of the source.
func (r *Reader) Next() ([][]byte, error) {
	r.forget()
	for !r.whole {
		err := r.parse()
		if err == errMore {
			err = r.ended(r.in.fill())
		}
		if err != nil {
			return nil, err
		}
	}
	r.begun = true
	r.taken++
	if r.dropping != nil {
		r.whole, r.total = false, 0
		return nil, r.dropped()
	}
	from := r.in.unread()
	if r.texts != nil {
		from = r.texts
	}
	for _, s := range r.spans {
		r.args = append(r.args, from[s.from:s.to:s.to])
	}
	r.in.drop(r.at)
	r.whole, r.at, r.total, r.spans, r.texts = false, 0, 0, r.spans[:0], nil
	return r.args, nil
}

// forget drops the arguments of the command before, and the space for them if that is unusually large: the client may
// send nothing more for long.
func (r *Reader) forget() {
	clear(r.args)
	if r.args = r.args[:0]; cap(r.args) > keptArgs {
		r.args = nil
	}
	if len(r.spans) == 0 && cap(r.spans) > keptArgs {
		r.spans = nil
	}
}

// keptArgs bounds the arguments whose space is kept for the next command.
const keptArgs = 1 << 8

// Partial reports whether a part of a command has come, and not all of it. taken is how many commands Next has returned
// before it.
func (r *Reader) Partial() (taken uint64, partial bool) {
	return r.taken, !r.whole && (r.left != unread || len(r.in.unread()) > 0)
}

// Ready reports whether Next returns a command, or an error about one, without reading from the source.
func (r *Reader) Ready() bool {
	if r.whole {
		return true
	}
	return r.parse() != errMore
}

// parse understands as much of the next command as is there. It returns errMore until the command is whole.
func (r *Reader) parse() error {
	for !r.whole {
		var err error
		switch {
		case r.dropping != nil:
			err = r.drop()
		case r.left != unread:
			err = r.argument()
		case len(r.in.unread()) == 0:
			err = errMore
		case r.in.unread()[0] == '*':
			err = r.begin()
		default:
			err = r.inline()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin reads how many arguments a command has. Redis takes one without any for nothing.
func (r *Reader) begin() error {
	n, size, err := r.number(0, "invalid multibulk length", "too big mbulk count string")
	switch {
	case err != nil:
		return err
	case n > mostArgs:
		return broken("invalid multibulk length")
	case n > strangerArgs && r.stranger():
		return broken("unauthenticated multibulk length")
	case n <= 0:
		r.in.drop(size)
		return nil
	}
	r.left, r.at = int(n), size
	return nil
}

func (r *Reader) stranger() bool { return r.Stranger != nil && r.Stranger() }

// argument reads one argument, or what there is of it.
func (r *Reader) argument() error {
	if r.bulk == unread {
		n, size, err := r.length(r.at, int64(r.total))
		if err != nil {
			return err
		}
		if n > int64(r.limits.Bulk) || n > int64(r.limits.Command-r.total) || len(r.spans) == 1 && r.left >= r.limits.Args {
			r.tooLarge(n, r.at+size)
			return nil
		}
		r.bulk, r.at, r.total = int(n), r.at+size, r.total+int(n)
	}
	b := r.in.unread()
	if len(b)-r.at < r.bulk+len(lineEnd) {
		r.in.want(r.at + r.bulk + len(lineEnd))
		return errMore
	}
	r.spans = append(r.spans, span{r.at, r.at + r.bulk})
	r.at += r.bulk + len(lineEnd) // Redis does not look at what ends an argument either
	r.bulk = unread
	if r.left--; r.left == 0 {
		r.left, r.whole = unread, true
	}
	return nil
}

// number reads the line at offset at, a mark and a decimal number, and returns how many bytes it has with its end.
func (r *Reader) number(at int, invalid, tooLong string) (n int64, size int, err error) {
	line, size, ok := r.line(at)
	switch {
	case !ok && len(r.in.unread())-at > maxLineBytes:
		return 0, 0, broken("%s", tooLong)
	case !ok:
		return 0, 0, errMore
	}
	if n, ok = decimal(line[1:]); !ok {
		return 0, 0, broken("%s", invalid)
	}
	return n, size, nil
}

var lineEnd = []byte("\r\n")

// line returns the line at offset at, without its end, which is \r\n.
func (r *Reader) line(at int) (line []byte, size int, ok bool) {
	b := r.in.unread()[at:]
	end := bytes.IndexByte(b, '\r')
	if end < 0 || end+len(lineEnd) > len(b) {
		return nil, 0, false
	}
	return b[:end], end + len(lineEnd), true
}

// decimal reads a number as Redis does: no sign but -, no leading zeros, no spaces.
func decimal(b []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	const most = 18 // digits that cannot overflow: more is beyond every limit
	if len(digits) == 0 || len(digits) > most || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

func printable(c byte) rune {
	if c < ' ' || c > '~' {
		return '?'
	}
	return rune(c)
}
