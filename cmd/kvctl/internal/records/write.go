package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"tenure/internal/shown"
)

// Writer writes records. Used by one goroutine at a time.
type Writer struct {
	w      *bufio.Writer
	format Format
	text   bool
	count  int
	buf    bytes.Buffer
}

// NewWriter returns a Writer of NDJSON, or of Consul's array. text is for NDJSON: values that are UTF-8 are written as
// they are.
func NewWriter(w io.Writer, format Format, text bool) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), format: format, text: text}
}

// line is a record in NDJSON. The order of the fields is part of the format.
type line struct {
	Key   string  `json:"key"`
	Value *[]byte `json:"value,omitempty"` // base64
	Text  *string `json:"text,omitempty"`  // instead of Value
	Flags uint64  `json:"flags,omitempty"`
	TTL   string  `json:"ttl,omitempty"`
}

// element is a record in Consul's array.
type element struct {
	Key       string `json:"key"`
	Flags     uint64 `json:"flags"`
	Value     []byte `json:"value"`
	Namespace string `json:"namespace,omitempty"`
	Partition string `json:"partition,omitempty"`
}

// Write writes a record. Consul's array has no place for its TTL.
func (w *Writer) Write(r *Record) error {
	if r.Value == nil {
		r.Value = []byte{}
	}
	w.buf.Reset()
	e := json.NewEncoder(&w.buf)
	var err error
	if w.format == Consul {
		e.SetIndent("\t", "\t")
		_ = e.Encode(element{Key: r.Key, Flags: r.Flags, Value: r.Value}) // strings and numbers can always be encoded
		before := ",\n\t"
		if w.count == 0 {
			before = "[\n\t"
		}
		_, err = fmt.Fprintf(w.w, "%s%s", before, bytes.TrimSuffix(shown.JSON(w.buf.Bytes()), []byte("\n")))
	} else {
		e.SetEscapeHTML(false)
		l := line{Key: r.Key, Value: &r.Value, Flags: r.Flags}
		if w.text && utf8.Valid(r.Value) {
			text := string(r.Value)
			l.Value, l.Text = nil, &text
		}
		if r.TTL > 0 {
			l.TTL = r.TTL.String()
		}
		_ = e.Encode(l)
		_, err = w.w.Write(shown.JSON(w.buf.Bytes()))
	}
	w.count++
	return err
}

// Close writes what is left. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.format == Consul {
		end := "\n]\n"
		if w.count == 0 {
			end = "[]\n"
		}
		if _, err := w.w.WriteString(end); err != nil {
			return err
		}
	}
	return w.w.Flush()
}
