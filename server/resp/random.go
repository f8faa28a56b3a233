package resp

import (
	"math/rand/v2"

	"tenure/kv"
	"tenure/server/resp/proto"
)

// equalKeys is how many keys a store may have for RANDOMKEY to give each the same chance. To do so it passes all keys.
const equalKeys = 1 << 10

// randomkey answers a random key. Each one that the client may read has a chance.
func randomkey(c *conn, _ [][]byte) {
	c.snapshot("", func(v view) error {
		key, all, err := v.draw()
		if err == nil && !all {
			key, err = v.descend()
		}
		if err != nil {
			return err
		}
		c.batch.reply(func(w *proto.Writer) {
			if key == "" {
				w.Null()
			} else {
				w.Text(key)
			}
		})
		return nil
	})
}

// draw returns one of the keys of v, each with the same chance, or "" if there are none. all is false if there are too
// many. Where keys are hidden none are too many: only passing all of them finds those that the client may read. That
// costs as much as DBSIZE does for this client.
func (v view) draw() (key string, all bool, err error) {
	n := 0
	err = v.Keys(kv.Range{}, func(k string) bool {
		if n++; rand.IntN(n) == 0 {
			key = k
		}
		return v.hides || n <= equalKeys
	})
	return key, v.hides || n <= equalKeys, err
}

// descend returns one of the keys of v, which has some and hides none. It goes down the tree of the bytes in which
// names differ, and turns at random at each fork. It looks at three keys at each, and there are at most as many forks
// as the longest key has bytes. A key behind a gap between such bytes comes more often than its neighbours.
func (v view) descend() (key string, err error) {
	prefix := ""
	first, err := v.next(kv.Range{})
	for err == nil {
		var last string
		if last, err = v.next(kv.Range{Prefix: prefix, Reverse: true}); err != nil || first == last {
			return first, err
		}
		prefix = first[:common(first, last)]
		low := -1 // the key that is prefix itself
		if len(first) > len(prefix) {
			low = int(first[len(prefix)])
		}
		turn := low + rand.IntN(int(last[len(prefix)])-low+1)
		if turn < 0 {
			return prefix, nil
		}
		if first, err = v.next(kv.Range{Prefix: prefix, Start: prefix + string([]byte{byte(turn)})}); err == nil {
			prefix = first[:len(prefix)+1]
		}
	}
	return "", err
}

// next returns the first key of r, which has some.
func (v view) next(r kv.Range) (key string, err error) {
	err = v.Keys(r, func(k string) bool {
		key = k
		return false
	})
	return key, err
}

// common returns how many bytes a and b begin with alike.
func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
