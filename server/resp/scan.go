package resp

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/glob"
	"tenure/server/resp/proto"
)

// A cursor of SCAN stands for the key at which the listing goes on: the first one that was not told yet. Clients take a
// cursor for a number, so it is a number made from that key's name, the same on every node. A node remembers the keys
// of the cursors that it gave. Any other node, and one that was restarted, looks for the key in its own state, in parts
// of mostScanned keys: meanwhile the client gets empty pages and the same cursor. If the key is gone by then, the
// answer is an error, and never a listing that leaves keys out. Should two keys have the same number, the search takes
// the first, and some keys come twice.
//
// The number of a key says something about its name. So the place of a key that the client may not read has a random
// number, which means nothing to other nodes.

// cursorBits is the size of cursors: clients exist that keep them in signed or in floating numbers.
const cursorBits = 53

// cursorAt returns the cursor for a key that its client may read. It is odd, and so is none of randomCursor.
func cursorAt(key string) uint64 {
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])>>(64-cursorBits) | 1
}

// randomCursor returns a cursor that says nothing. It is even, and not 0.
func randomCursor() uint64 { return (rand.Uint64N(1<<(cursorBits-1)-1) + 1) << 1 }

// place is where a listing goes on.
type place struct {
	key string
	// sought: the key is not known. Of the keys before this one, none is it.
	sought bool
}

// The bounds of the places that a node remembers, of one client and of all. A client loses nothing by them but time,
// except the place of a key that is hidden from it.
const (
	maxCursorsOfClient = 64
	maxCursors         = 4096
)

const (
	scanFor      = 100 * time.Millisecond // a page ends then: patterns take long to match
	scansBetween = 16                     // keys between two looks at the clock
)

const errCursor = "ERR invalid cursor: the key where it would go on is gone, or it is of another node: begin again " +
	"with 0"

// scanning is what a SCAN was told.
type scanning struct {
	cursor  uint64 // 0: begin
	pattern string
	count   int
	none    bool // a type other than string was asked for
}

// page is what a SCAN answers.
type page struct {
	keys []string
	next uint64 // cursor; 0: there is no more
}

func scan(c *conn, args [][]byte) {
	s, refusal := parseScan(args)
	if refusal != "" {
		c.fail(refusal)
		return
	}
	c.snapshot("", func(v view) error {
		p, known, err := c.scanned(v, s)
		switch {
		case err != nil:
			return err
		case !known:
			c.fail(errCursor)
			return nil
		}
		c.batch.reply(func(w *proto.Writer) {
			w.Array(2)
			w.Text(strconv.FormatUint(p.next, 10))
			texts(w, p.keys)
		})
		return nil
	})
}

// scanned returns a page of v; known is false if nobody knows where it begins.
func (c *conn) scanned(v view, s scanning) (p page, known bool, err error) {
	var from place
	if s.cursor != 0 {
		from, known = c.places.get(c.to.Bounds.Key(), s.cursor)
		if !known && s.cursor%2 == 0 {
			return page{}, false, nil
		}
		if !known || from.sought {
			if from, known, err = v.placeOf(s.cursor, from.key); err != nil || !known {
				return page{}, known, err
			}
		}
	}
	if from.sought {
		c.places.put(c.to.Bounds.Key(), s.cursor, from)
		return page{next: s.cursor}, true, nil
	}
	keys, at, shown, err := v.page(from.key, s)
	if err != nil || at == "" {
		return page{keys: keys}, true, err
	}
	next := cursorAt(at)
	if !shown {
		next = randomCursor()
	}
	c.places.put(c.to.Bounds.Key(), next, place{key: at})
	return page{keys, next}, true, nil
}

// placeOf looks for the key of a cursor among those from start on. Hidden keys are none: a guess at a name is not
// confirmed.
func (v view) placeOf(cursor uint64, start string) (p place, known bool, err error) {
	passed := 0
	err = v.Pass(kv.Range{Start: start}, func(key string, shown bool) bool {
		found := shown && cursorAt(key) == cursor
		if known = found || passed == mostScanned; known {
			p = place{key: key, sought: !found}
		}
		passed++
		return !known
	})
	return p, known, err
}

// page returns the keys from start on that s asks for, and the key at which the next page begins, or "" if there is
// none.
func (v view) page(start string, s scanning) (keys []string, at string, shown bool, err error) {
	told, passed, bytes, began := 0, 0, 0, time.Now()
	err = v.Pass(kv.Range{Start: start}, func(key string, shows bool) bool {
		late := passed%scansBetween == scansBetween-1 && time.Since(began) > scanFor
		if late || passed == mostScanned || shows && (told == s.count || bytes >= partBytes) {
			at, shown = key, shows
			return false
		}
		passed++
		if shows {
			told++
			if !s.none && glob.Match(s.pattern, key) {
				keys = append(keys, key)
				bytes += len(key)
			}
		}
		return true
	})
	return keys, at, shown, err
}

// parseScan reads the arguments of SCAN.
func parseScan(args [][]byte) (s scanning, refusal string) {
	s = scanning{pattern: "*", count: 10}
	var err error
	if s.cursor, err = strconv.ParseUint(string(args[1]), 10, cursorBits); err != nil {
		return s, errCursor
	}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return s, errSyntax
		}
		value := string(args[i+1])
		switch strings.ToLower(string(args[i])) {
		case "match":
			if refusal := patternRefusal(args[i+1]); refusal != "" {
				return s, refusal
			}
			s.pattern = value
		case "count":
			n, ok := integer(args[i+1])
			if !ok {
				return s, errNotInteger
			}
			if n < 1 {
				return s, errSyntax
			}
			s.count = int(min(n, mostScanned))
		case "type":
			s.none = !strings.EqualFold(value, "string")
		default:
			return s, errSyntax
		}
	}
	return s, ""
}
