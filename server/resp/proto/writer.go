package proto

import (
	"math"
	"strconv"
)

// Writer makes replies, one behind the other, in memory. The zero Writer speaks RESP2. It is used by one goroutine.
type Writer struct {
	buf []byte
	// V3 makes it speak RESP3.
	V3 bool
	// Full, unless it is nil, is called when a value has made the replies larger than fullBytes: it sends them, and resets
	// the Writer, in the middle of a reply perhaps. It reports whether it could: if not, no further value is kept.
	Full func() bool
	lost bool // what was sent last did not arrive
}

// fullBytes is how large replies become that can be sent in parts; a value comes on top.
const fullBytes = 256 << 10

// Bytes returns the replies that were made since the last Reset. They are good until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns how many bytes there are.
func (w *Writer) Len() int { return len(w.buf) }

// Lost reports whether Full could not send: nobody will read a further reply.
func (w *Writer) Lost() bool { return w.lost }

// Reset forgets the replies, which have been sent.
func (w *Writer) Reset() {
	if cap(w.buf) > keptBuffer {
		w.buf = nil
	}
	w.buf = w.buf[:0]
}

// Raw adds replies that are bytes already.
func (w *Writer) Raw(b []byte) {
	if w.lost {
		return
	}
	w.buf = append(w.buf, b...)
	w.mayBeFull()
}

// Simple replies a status: a line of text without \r and \n.
func (w *Writer) Simple(text string) { w.line('+', text) }

// OK replies that a command was done.
func (w *Writer) OK() { w.buf = append(w.buf, "+OK\r\n"...) }

// Error replies an error. Its first word says what kind of error it is. Line ends in it become spaces.
func (w *Writer) Error(text string) {
	w.buf = append(w.buf, '-')
	for i := range len(text) {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, lineEnd...)
}

// Int replies a number.
func (w *Writer) Int(n int64) { w.number(':', n) }

// Bulk replies bytes.
func (w *Writer) Bulk(b []byte) {
	w.number('$', int64(len(b)))
	w.buf = append(w.buf, b...)
	w.buf = append(w.buf, lineEnd...)
}

// Text replies bytes that are a string.
func (w *Writer) Text(s string) {
	if w.lost {
		return
	}
	w.number('$', int64(len(s)))
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, lineEnd...)
	w.mayBeFull()
}

// mayBeFull sends the replies if they have become large.
func (w *Writer) mayBeFull() {
	if w.Full != nil && len(w.buf) > fullBytes {
		w.lost = !w.Full()
	}
}

// Null replies that there is nothing.
func (w *Writer) Null() {
	if w.V3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "$-1\r\n"...)
	}
}

// NullArray replies that there is no list.
func (w *Writer) NullArray() {
	if w.V3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "*-1\r\n"...)
	}
}

// Array begins a list of n replies.
func (w *Writer) Array(n int) { w.number('*', int64(n)) }

// Set begins a list of n replies whose order means nothing.
func (w *Writer) Set(n int) { w.sized('~', '*', n, 1) }

// Push begins a message of n parts that nobody asked for.
func (w *Writer) Push(n int) { w.sized('>', '*', n, 1) }

// Map begins n pairs of a name and a reply each.
func (w *Writer) Map(n int) { w.sized('%', '*', n, 2) }

// Bool replies yes or no; 1 or 0 in RESP2.
func (w *Writer) Bool(yes bool) {
	switch {
	case w.V3 && yes:
		w.buf = append(w.buf, "#t\r\n"...)
	case w.V3:
		w.buf = append(w.buf, "#f\r\n"...)
	case yes:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Double replies a number with a fraction; a string in RESP2.
func (w *Writer) Double(f float64) {
	text := strconv.FormatFloat(f, 'g', 17, 64)
	switch {
	case math.IsInf(f, 1):
		text = "inf"
	case math.IsInf(f, -1):
		text = "-inf"
	}
	if w.V3 {
		w.line(',', text)
	} else {
		w.Text(text)
	}
}

// Verbatim replies a text for people.
func (w *Writer) Verbatim(text string) {
	if !w.V3 {
		w.Text(text)
		return
	}
	w.number('=', int64(len(text)+len("txt:")))
	w.buf = append(append(append(w.buf, "txt:"...), text...), lineEnd...)
}

// sized begins what RESP3 marks with mark; in RESP2 each of its n elements is that many.
func (w *Writer) sized(mark, mark2 byte, n, each int) {
	if w.V3 {
		w.number(mark, int64(n))
	} else {
		w.number(mark2, int64(n*each))
	}
}

func (w *Writer) number(mark byte, n int64) {
	w.buf = append(w.buf, mark)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.buf = append(w.buf, lineEnd...)
}

func (w *Writer) line(mark byte, text string) {
	w.buf = append(w.buf, mark)
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, lineEnd...)
}
