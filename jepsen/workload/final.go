package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenure/jepsen/history"
)

// finalTries bounds the tries of each read at the end.
const finalTries = 20

// Final reads everything that the history is about once more, through a quorum, so that no loss goes unnoticed because
// nobody has read. That includes the last state of registers that their clients have moved on from.
func Final(ctx context.Context, cfg Config, rec *history.Recorder) error {
	keys, prefixes, together := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, op := range rec.Ops() {
		switch part := strings.SplitN(op.Key, "/", 2)[0]; {
		case strings.HasPrefix(op.Key, history.RevokedPrefix):
			prefixes[history.RevokedPrefix+tokenOf(op.Key)+"/"] = true
		case part == "set" || part == "list":
			prefixes[listed(op.Key)] = true
		case part == "txn":
			together[op.Key[:strings.LastIndexByte(op.Key, '/')+1]] = true
		case part == "lock" || part == "leased":
			keys[op.Key[:strings.LastIndexByte(op.Key, '/')+1]+"guarded"] = true
		case part == "" || part == "watch" || part == "session": // watchers end when they have seen everything
		default:
			keys[op.Key] = true
		}
	}
	w, err := newWorker(cfg, rec, cfg.Clients)
	if err != nil {
		return err
	}
	defer w.close()
	read := func(names map[string]bool, f func(string, bool) history.Op) error {
		for _, n := range sorted(names) {
			for try := 0; f(n, true).Outcome != history.OK; try++ {
				if try == finalTries || ctx.Err() != nil {
					return fmt.Errorf("%s could not be read at the end", n)
				}
			}
		}
		return nil
	}
	group := func(name string, _ bool) history.Op { return w.txns.read(name, []int{0, 1, 2, 3}[:txnKeys]) }
	return errors.Join(read(keys, w.keys.get), read(prefixes, w.keys.list), read(together, group))
}

// listed returns the prefix by which a key of the set or list workload is listed.
func listed(key string) string {
	parts := strings.SplitAfter(key, "/")
	n := 2
	if parts[0] == "set/" {
		n = 3
	}
	return strings.Join(parts[:min(n, len(parts))], "")
}

// tokenOf returns what stands for the token in a key that is written under one that ends.
func tokenOf(key string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(key, history.RevokedPrefix), "/")
	return name
}

// sorted returns the elements of set in order.
func sorted(set map[string]bool) (out []string) {
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}
