package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
)

// tell reads a cursor to the end of the history: "revision key", with a ! for the last one of a revision.
func tell(t *testing.T, c *Cursor) string {
	t.Helper()
	var out []string
	for more := true; more; {
		var events []Event
		var err error
		if events, more, err = c.Next(make([]Event, 0, 2)); err != nil {
			return err.Error()
		}
		for _, e := range events {
			s := fmt.Sprintf("%d %s%s", e.Revision, e.Key, e.Session)
			if e.Whole {
				s += "!"
			}
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

func TestCursor(t *testing.T) {
	h := New(Limits{Waiting: 1, Events: 100, Bytes: 1 << 20})
	if _, err := h.Cursor("", 0); !errors.Is(err, ErrNotBegun) {
		t.Errorf("before Begin: %v", err)
	}
	h.Begin(10)
	late := must[*Cursor](t)(h.Cursor("a", 10))
	future := must[*Cursor](t)(h.Cursor("", 12))
	for _, c := range []kv.Changed{
		set(11, "a1", true), set(12, "a1", false), set(12, "b1", false), set(12, "a2", false), set(12, "b2", true),
		{Revision: 13, Session: "s", Last: true}, set(14, "b1", true),
	} {
		h.Changed(c)
	}
	for _, c := range []struct {
		prefix string
		after  uint64
		want   string
		passed uint64
	}{
		{"a", 10, "11 a1!, 12 a1, 12 a2!", 14},
		{"a", 11, "12 a1, 12 a2!", 14},
		{"a", 12, "", 14},
		{"b", 11, "12 b1, 12 b2!, 14 b1!", 14},
		{"", 12, "13 s!, 14 b1!", 14},
		{"", 99, "", 99},
		{"", 9, ErrLost.Error(), 0},
	} {
		cur, err := h.Cursor(c.prefix, c.after)
		if err != nil {
			if err.Error() != c.want {
				t.Errorf("%q after %d: %v", c.prefix, c.after, err)
			}
			continue
		}
		if got := tell(t, cur); got != c.want || cur.Passed() != c.passed {
			t.Errorf("%q after %d: %s, passed %d", c.prefix, c.after, got, cur.Passed())
		}
	}
	if got := tell(t, late); got != "11 a1!, 12 a1, 12 a2!" {
		t.Errorf("opened before: %s", got)
	}
	if got := tell(t, future); got != "13 s!, 14 b1!" {
		t.Errorf("opened with an index to come: %s", got)
	}
}

// A change that is not known to be the last of its revision waits for what follows.
func TestHalfARevisionIsHeld(t *testing.T) {
	h := New(small())
	h.Begin(0)
	c := must[*Cursor](t)(h.Cursor("a", 0))
	h.Changed(set(1, "a1", false))
	h.Changed(set(1, "a2", false))
	if got := tell(t, c); got != "1 a1" || c.Passed() != 0 {
		t.Errorf("%s, passed %d", got, c.Passed())
	}
	h.Changed(set(1, "b", true))
	if got := tell(t, c); got != "1 a2!" || c.Passed() != 1 {
		t.Errorf("%s, passed %d", got, c.Passed())
	}
}

func TestHistoryIsBounded(t *testing.T) {
	h := New(Limits{Waiting: 1, Events: 5, Bytes: 1 << 20})
	h.Begin(0)
	slow := must[*Cursor](t)(h.Cursor("", 0))
	for r := uint64(1); r <= 4; r++ {
		h.Changed(set(r, "a", false))
		h.Changed(set(r, "b", true))
	}
	if st := h.Stats(); st.Events != 5 || st.Oldest != 2 {
		t.Errorf("%+v", st) // half of 2 is gone, so 2 cannot be resumed within
	}
	if got := tell(t, slow); got != ErrLost.Error() {
		t.Error(got)
	}
	if _, err := h.Cursor("", 1); !errors.Is(err, ErrLost) {
		t.Errorf("after 1: %v", err)
	}
	if got := tell(t, must[*Cursor](t)(h.Cursor("", 2))); got != "3 a, 3 b!, 4 a, 4 b!" {
		t.Error(got)
	}
	h.Begin(4)
	if _, err := h.Cursor("", 3); !errors.Is(err, ErrLost) {
		t.Errorf("after Begin: %v", err)
	}
	if got := tell(t, must[*Cursor](t)(h.Cursor("", 4))); got != "" {
		t.Error(got)
	}
}

// A cursor from before Begin is lost even if nothing was remembered then.
func TestBeginLosesCursors(t *testing.T) {
	h := New(small())
	h.Begin(0)
	c := must[*Cursor](t)(h.Cursor("", 0))
	h.Begin(0)
	if got := tell(t, c); got != ErrLost.Error() {
		t.Error(got)
	}
}

func TestHistoryCountsBytes(t *testing.T) {
	h := New(Limits{Waiting: 1, Events: 1000, Bytes: 10_000})
	h.Begin(0)
	for r := uint64(1); r <= 100; r++ {
		c := set(r, "key", true)
		c.Entry.Value = make([]byte, 1000)
		h.Changed(c)
		if st := h.Stats(); st.Bytes > 10_000 || st.Events > 8 {
			t.Fatalf("%+v", st)
		}
	}
	c := set(101, "key", true)
	c.Entry.Value = make([]byte, 1<<20)
	h.Changed(c)
	if st := h.Stats(); st.Events != 1 { // the newest stays, however large
		t.Fatalf("%+v", st)
	}
	h.Changed(set(102, "key", true))
	if st := h.Stats(); st.Events != 1 || st.Bytes > 1000 || st.Oldest != 101 {
		t.Fatalf("%+v", st)
	}
}
