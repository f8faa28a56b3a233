package client

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	r := newEventReader(strings.NewReader("id: 3\n\n: a comment\n\n\nevent: set\ndata: {\"a\":\ndata:1}\nid: 4\r\n\r\nretry: 1\nevent:delete\ndata\n\n" +
		"event: long\ndata: " + long + "\n\nevent: cut"))
	for _, want := range []message{
		{hasID: true, id: "3"}, {name: "set", data: []byte("{\"a\":\n1}"), hasID: true, id: "4"}, {name: "delete"}, {name: "long", data: []byte(long)},
	} {
		m, err := r.next()
		if err != nil || m.name != want.name || string(m.data) != string(want.data) || m.id != want.id || m.hasID != want.hasID {
			t.Fatalf("%+v %v, want %+v", m, err, want)
		}
	}
	if m, err := r.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("half a block: %+v %v", m, err)
	}
}

func TestEventReaderIsBounded(t *testing.T) {
	for name, text := range map[string]string{"one line": "data: " + strings.Repeat("x", maxEventBytes), "many lines": strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 33)} {
		if _, err := newEventReader(strings.NewReader(text)).next(); err != errEventTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add("event: set\ndata: {}\nid: 1\n\n")
	f.Add(":\r\n\n\nid\n\ndata\ndata:\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := newEventReader(strings.NewReader(text))
		for range len(text) + 1 {
			m, err := r.next()
			if err != nil {
				return
			}
			if m.name == "" && !m.hasID && len(m.data) == 0 && !strings.Contains(text, "data") {
				t.Fatalf("an empty block in %q", text)
			}
			if m.name != "" {
				_, _ = decodeEvent(m)
			}
		}
		t.Fatal("more blocks than bytes")
	})
}
