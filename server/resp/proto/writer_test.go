package proto

import (
	"math"
	"testing"
)

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(*Writer)
		v2, v3 string
	}{
		{"ok", (*Writer).OK, "+OK\r\n", "+OK\r\n"},
		{"simple", func(w *Writer) { w.Simple("PONG") }, "+PONG\r\n", "+PONG\r\n"},
		{"error", func(w *Writer) { w.Error("ERR a\r\nb") }, "-ERR a  b\r\n", "-ERR a  b\r\n"},
		{"int", func(w *Writer) { w.Int(-7) }, ":-7\r\n", ":-7\r\n"},
		{"bulk", func(w *Writer) { w.Bulk([]byte("a\r\n")) }, "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"},
		{"text", func(w *Writer) { w.Text("") }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"null", (*Writer).Null, "$-1\r\n", "_\r\n"},
		{"null array", (*Writer).NullArray, "*-1\r\n", "_\r\n"},
		{"array", func(w *Writer) { w.Array(2) }, "*2\r\n", "*2\r\n"},
		{"set", func(w *Writer) { w.Set(2) }, "*2\r\n", "~2\r\n"},
		{"push", func(w *Writer) { w.Push(2) }, "*2\r\n", ">2\r\n"},
		{"map", func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"double", func(w *Writer) { w.Double(0.5) }, "$3\r\n0.5\r\n", ",0.5\r\n"},
		{"infinity", func(w *Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"verbatim", func(w *Writer) { w.Verbatim("x") }, "$1\r\nx\r\n", "=5\r\ntxt:x\r\n"},
	} {
		for v3, want := range map[bool]string{false: c.v2, true: c.v3} {
			w := Writer{V3: v3}
			c.do(&w)
			if got := string(w.Bytes()); got != want {
				t.Errorf("%s, RESP3 %v: %q, want %q", c.name, v3, got, want)
			}
		}
	}
}

func TestALargeReplyIsNotKept(t *testing.T) {
	var w Writer
	w.Bulk(make([]byte, 2*keptBuffer))
	w.Reset()
	if w.Len() != 0 || cap(w.buf) > keptBuffer {
		t.Errorf("%d bytes, space for %d", w.Len(), cap(w.buf))
	}
}
