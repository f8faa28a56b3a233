package lease

import (
	"reflect"
	"testing"
	"unsafe"
)

// A search visits a state once: whatever decides what a proposer or an acceptor does next must be in its state. Each
// number of them is changed here by itself; those that do not count are named with the reason.
func TestAllThatDecidesIsInTheState(t *testing.T) {
	without := map[string]string{
		"Proposer.held.Number":            "it only tells history",
		"Proposer.held.Since":             "it only tells history",
		"Proposer.held.Duration":          "it only paces",
		"Proposer.current.voters.n":       "the number decides them",
		"Proposer.attempt.under.voters.n": "the number decides them",
	}
	make := func() *world {
		w := newWorld(t)
		w.win(p, 1, 2*ms, 1, 2)
		w.start(p, 2, 2*ms)
		return w
	}
	check := func(root string, pick func(*world) any, state func(*world) []byte, skip map[string]bool) {
		want, seen := string(state(make())), 0
		var walk func(path string, get func(reflect.Value) reflect.Value)
		walk = func(path string, get func(reflect.Value) reflect.Value) {
			w := make()
			v := get(reflect.ValueOf(pick(w)).Elem())
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
			switch v.Kind() {
			case reflect.Struct:
				for i := range v.NumField() {
					if name := path + "." + v.Type().Field(i).Name; !skip[name] {
						walk(name, func(r reflect.Value) reflect.Value { return get(r).Field(i) })
					}
				}
				return
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + int64(ms)/2)
			case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
				v.SetUint(v.Uint() + 1)
			default:
				return
			}
			seen++
			if string(state(w)) == want && without[path] == "" {
				t.Errorf("%s does not count", path)
			}
		}
		walk(root, func(r reflect.Value) reflect.Value { return r })
		if seen < 5 {
			t.Errorf("%s: only %d numbers were changed", root, seen)
		}
	}
	check("Proposer", func(w *world) any { return w.proposers[p] },
		func(w *world) []byte { return w.proposers[p].AppendState(nil, w.now) },
		map[string]bool{"Proposer.cfg": true, "Proposer.last": true, "Proposer.attempt.votes": true,
			"Proposer.attempt.refused": true,
			"Proposer.unreleased":      true, "Proposer.attempt.obstacle": true})
	check("Acceptor", func(w *world) any { return &w.acceptors[1].master },
		func(w *world) []byte { return w.acceptors[1].AppendState(nil, w.now) }, nil)
}
