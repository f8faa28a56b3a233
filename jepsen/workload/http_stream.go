package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"tenure/jepsen/history"
)

const maxEventLine = 1 << 20

// message is one block of a stream of events.
type message struct{ name, data, id string }

// follow reads the messages of a stream until take returns false. Its error says why the stream ended before.
func (r *raw) follow(ctx context.Context, where string, take func(message) bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return err
	}
	if err := r.authorize(req); err != nil {
		return err
	}
	rsp, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(rsp.Body, 200))
		return fmt.Errorf("status %d: %s", rsp.StatusCode, text)
	}
	lines := bufio.NewScanner(rsp.Body)
	lines.Buffer(nil, maxEventLine)
	var m message
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			m.name = value
		case "data":
			m.data = value
		case "id":
			m.id = value
		case "":
			if !take(m) {
				return nil
			}
			m = message{}
		}
	}
	return lines.Err()
}

// take adds a message to op and reports whether to continue.
func take(op *history.Op, m message) bool {
	var e wireEntry
	var gap struct{ Index uint64 }
	switch m.name {
	case "set", "delete":
		if json.Unmarshal([]byte(m.data), &e) != nil {
			op.Error, op.Outcome = "not understood: "+m.data, history.Fail
			return false
		}
		seen := e.seen()
		seen.Session = e.Session
		op.Entries = append(op.Entries, seen)
	case "session":
		var s struct {
			Session     string
			ModifyIndex uint64
		}
		if json.Unmarshal([]byte(m.data), &s) != nil {
			op.Error, op.Outcome = "not understood: "+m.data, history.Fail
			return false
		}
		op.Entries = append(op.Entries, history.Entry{Session: s.Session, Modify: s.ModifyIndex})
	case "compacted":
		if json.Unmarshal([]byte(m.data), &gap) != nil || gap.Index == 0 {
			op.Error, op.Outcome = "not understood: "+m.data, history.Fail
			return false
		}
		op.Gap = gap.Index
		return false
	}
	if m.id != "" {
		op.Result, _ = strconv.ParseUint(m.id, 10, 64)
	}
	return true
}
