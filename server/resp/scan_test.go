package resp

import (
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
)

// farm is the name of a key that has a long beginning with all others in common.
func farm(i int) string { return fmt.Sprintf("%s/animal/%05d", strings.Repeat("farm/", 40), i) }

// animal is the name of a key that is short.
func animal(i int) string { return fmt.Sprintf("a%05d", i) }

// fill writes so many keys.
func fill(t *testing.T, f *fake, n int, name func(int) string) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		var parts []kv.Command
		for i := from; i < min(from+1000, n); i++ {
			parts = append(parts, kv.Command{Op: kv.OpSet, Key: name(i), Value: []byte("v")})
		}
		f.apply(t, kv.Command{Op: kv.OpSequence, Parts: parts})
	}
}

// scanPage sends a SCAN and returns its cursor and keys; an error is a cursor that begins with "-".
func (s *session) scanPage(cursor, options string) (next string, keys []string) {
	s.t.Helper()
	s.send("scan " + cursor + " " + options)
	got := s.reply()
	if strings.HasPrefix(got, "-") {
		return got, nil
	}
	next, list, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(got, "["), "]]"), " [")
	return next, strings.Fields(list)
}

// scanAll lists all keys, each page at the next of the nodes, and counts how often each comes.
func scanAll(t *testing.T, options string, nodes ...*session) map[string]int {
	t.Helper()
	seen := make(map[string]int)
	cursor := "0"
	for i := 0; ; i++ {
		var keys []string
		if cursor, keys = nodes[i%len(nodes)].scanPage(cursor, options); strings.HasPrefix(cursor, "-") {
			t.Fatalf("page %d: %s", i, cursor)
		}
		for _, k := range keys {
			seen[k]++
		}
		if cursor == "0" {
			return seen
		}
		if i > 100_000 {
			t.Fatal("the listing does not end")
		}
	}
}

// A listing may go on at any node, and at one that was restarted: a cursor means the same everywhere.
func TestScanGoesOnAtAnyNode(t *testing.T) {
	f := newFake(t)
	fill(t, f, 1100, farm)
	a, b := start(t, f, Config{}), start(t, f, Config{})
	for i := range 50 { // the other node has listings of its own
		dial(t, b).scanPage("0", fmt.Sprint("count ", i+1))
	}
	for name, nodes := range map[string][]*session{
		"one node": {dial(t, a)}, "two nodes": {dial(t, a), dial(t, b)},
	} {
		if seen := scanAll(t, "count 10", nodes...); len(seen) != 1100 {
			t.Errorf("%s: %d keys of 1100", name, len(seen))
		}
	}
	cursor, first := dial(t, a).scanPage("0", "count 100")
	seen := len(first)
	for restarts := 0; cursor != "0" && restarts < 100; restarts++ {
		var keys []string
		cursor, keys = dial(t, start(t, f, Config{})).scanPage(cursor, "count 100")
		seen += len(keys)
	}
	if cursor != "0" || seen != 1100 {
		t.Errorf("with a restart before each page: %d keys of 1100, cursor %s", seen, cursor)
	}
}

// A cursor is a number that every client can hold: some keep it as a signed number, some as one of 53 bits.
func TestScanCursorsAreSmallNumbers(t *testing.T) {
	for i := range 1000 {
		if n := cursorAt(farm(i)); n == 0 || n >= 1<<53 || n%2 == 0 {
			t.Errorf("%d", n)
		}
	}
}

// What is deleted while it is listed is no obstacle, also not at another node: the key where a listing goes on was not
// told yet.
func TestScanAndDelete(t *testing.T) {
	f := newFake(t)
	fill(t, f, 300, farm)
	nodes := []*session{dial(t, start(t, f, Config{})), dial(t, start(t, f, Config{}))}
	cursor, seen := "0", 0
	for i := 0; i == 0 || cursor != "0"; i++ {
		var keys []string
		if cursor, keys = nodes[i%2].scanPage(cursor, "count 7"); strings.HasPrefix(cursor, "-") {
			t.Fatal(cursor)
		}
		seen += len(keys)
		nodes[0].want("del "+strings.Join(keys, " "), fmt.Sprint(len(keys)))
	}
	if seen != 300 {
		t.Errorf("%d keys of 300", seen)
	}
}

// If the key where a listing goes on is gone, the node that gave the cursor goes on behind it. Another one says that it
// cannot: it never leaves keys out.
func TestScanWhenItsPlaceIsGone(t *testing.T) {
	f := newFake(t)
	fill(t, f, 20, farm)
	a, b := dial(t, start(t, f, Config{})), dial(t, start(t, f, Config{}))
	cursor, _ := a.scanPage("0", "count 10")
	a.want("del "+farm(10), "1")
	if got, _ := b.scanPage(cursor, ""); got != "-"+errCursor {
		t.Error("another node: ", got)
	}
	if next, keys := a.scanPage(cursor, "count 100"); next != "0" || len(keys) != 9 {
		t.Errorf("the node that gave it: %s, %d keys", next, len(keys))
	}
	for _, bad := range []string{"x", "-1", "99", "100", "18446744073709551615", "1.5", ""} {
		if got, _ := a.scanPage(`"`+bad+`"`, ""); got != "-"+errCursor {
			t.Errorf("cursor %q: %s", bad, got)
		}
	}
}

// Another node looks for the place of a cursor in parts, so that no call costs much, and finds it in the end.
func TestScanLooksForItsPlaceInParts(t *testing.T) {
	f := newFake(t)
	const all = mostScanned + 1000
	fill(t, f, all, animal)
	a, b := dial(t, start(t, f, Config{})), dial(t, start(t, f, Config{}))
	cursor, passed := "0", 0
	for passed <= mostScanned { // a page ends early on a slow machine
		next, keys := a.scanPage(cursor, fmt.Sprint("count ", min(mostScanned+100-passed, mostScanned)))
		cursor, passed = next, passed+len(keys)
	}
	again, none := b.scanPage(cursor, "count 100000")
	if again != cursor || len(none) != 0 {
		t.Fatalf("the first call at another node: %s with %d keys, want %s again with none", again, len(none), cursor)
	}
	end, rest := b.scanPage(cursor, "count 100000")
	if end != "0" || passed+len(rest) != all {
		t.Errorf("%d and %d keys of %d, then %s", passed, len(rest), all, end)
	}
}

// A cursor says nothing of keys that may not be read: the place of a hidden key is a number of this node alone, and a
// guessed name is not confirmed. The listings of others do not end it.
func TestScanHidesWhatMayNotBeRead(t *testing.T) {
	g := newGuarded(t)
	g.may("few", `key_prefix "visible/" { policy = "read" }`)
	g.set("visible/1", "v", "visible/2", "v")
	fill(t, g.fake, mostScanned+10, animal) // before them, in the order of keys
	few, other := g.as("few"), dial(t, start(t, g, g.cfg))
	other.want("AUTH few", "OK")
	cursor, keys := few.scanPage("0", "")
	if n := cursorAt(animal(mostScanned)); len(keys) != 0 || cursor == "0" || cursor == fmt.Sprint(n) {
		t.Fatalf("cursor %s, keys %v", cursor, keys)
	}
	flood := g.as(root)
	for range 3 * maxCursors / 2 {
		flood.send("scan 0 count 1", "scan "+fmt.Sprint(cursorAt(animal(3)))+" count 1")
		flood.reply()
		flood.reply()
	}
	if next, keys := few.scanPage(cursor, ""); next != "0" || len(keys) != 2 {
		t.Errorf("after the listings of another client: %s, %v", next, keys)
	}
	if got, _ := other.scanPage(cursor, ""); got != "-"+errCursor {
		t.Errorf("another node takes it: %s", got)
	}
	// The search of a whole store ends in a second call.
	for _, name := range []string{animal(5), "no such key"} {
		guess := fmt.Sprint(cursorAt(name))
		first, _ := other.scanPage(guess, "")
		second, _ := other.scanPage(guess, "")
		if first != guess || second != "-"+errCursor {
			t.Errorf("a guess at %.9q is answered with %.30s, then %s", name, first, second)
		}
	}
}
