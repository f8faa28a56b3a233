package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tenure/jepsen/history"
)

const maxEventLine = 1 << 20

// stream follows the changes under a prefix from behind a revision on, through one node, until ctx ends, the node
// breaks off or says that changes are missing, or enough says so of a position. It tells what was seen of it.
func (w *worker) stream(ctx context.Context, prefix string, from uint64, enough func(uint64) bool) history.Op {
	op := history.Op{Client: w.id, Kind: history.Stream, Key: prefix, Index: from, Result: from, Call: w.rec.Now(), Outcome: history.OK}
	var err error
	if w.typed() {
		err = w.typedStream(ctx, &op, enough)
	} else {
		where := fmt.Sprintf("%s/v1/watch?prefix=%s&index=%d", w.raw.endpoints[w.raw.at], url.QueryEscape(prefix), from)
		err = w.raw.follow(ctx, where, func(m message) bool { return take(&op, m) && !enough(op.Result) })
	}
	if err != nil {
		op.Error = fmt.Sprintf("%.200s", err)
	}
	op.Return = w.rec.Now()
	w.rec.Add(op)
	return op
}

// message is one block of a stream of events.
type message struct{ name, data, id string }

// follow reads a stream's messages until take says false. Its error says why it ended before.
func (r *raw) follow(ctx context.Context, where string, take func(message) bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
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

// take adds a message to what op has seen, and tells whether to go on.
func take(op *history.Op, m message) bool {
	var e wireEntry
	var gap struct{ Index uint64 }
	switch m.name {
	case "set", "delete":
		if json.Unmarshal([]byte(m.data), &e) != nil {
			op.Error, op.Outcome = "not understood: "+m.data, history.Fail
			return false
		}
		op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex, Session: e.Session})
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
