package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/history"
)

const (
	watchGroups = 2 // prefixes below which writers write
	watchKeys   = 4 // that a writer writes in turn, and that all write
	watchRest   = 8 * time.Millisecond
	watchWait   = "60s"
	// watchLeast to watchMost: for so long a watcher stays with a node while there are faults.
	watchLeast, watchMost = time.Second, 4 * time.Second
	// convergeTime is in how long each watcher must have seen the last change, once there are no faults any more.
	convergeTime = 20 * time.Second
)

// watches: some clients write, and the others watch: streams that resume at other nodes, queries that wait for changes
// of a prefix, and of one key. At the end each must come to see the last change without asking again.
func watches(ctx context.Context, cfg Config, rec *history.Recorder) error {
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	var writers, watchers sync.WaitGroup
	defer watchers.Wait()
	end := &finish{revisions: map[string]uint64{}}
	for i := range cfg.Clients {
		w, err := newWorker(cfg, rec, i)
		if err != nil {
			stop()
			return err
		}
		group := watchGroup(i / 5)
		switch i % 5 {
		case 0, 1:
			writers.Go(func() { defer w.close(); w.write(ctx, group) })
		case 2:
			if i/5%2 == 0 {
				group = "watch/"
			}
			watchers.Go(func() { defer w.close(); w.follow(ctx, watching, group, end) })
		case 3:
			watchers.Go(func() { defer w.close(); w.loop(ctx, watching, history.List, group, end) })
		case 4:
			watchers.Go(func() { defer w.close(); w.loop(ctx, watching, history.Get, hotKey(i/5), end) })
		}
	}
	writers.Wait()
	<-ctx.Done()
	err := mark(cfg, rec, end)
	if err == nil {
		time.AfterFunc(convergeTime, stop)
	} else {
		stop()
	}
	watchers.Wait()
	return err
}

func hotKey(i int) string { return fmt.Sprintf("watch/hot/k%d", i%watchKeys) }

// finish says at which revision everybody who watches a key or prefix has seen everything.
type finish struct {
	mu        sync.Mutex
	revisions map[string]uint64
}

// reached tells whether that is so.
func (f *finish) reached(name string, revision uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.revisions[name]
	return end > 0 && revision >= end
}

func (f *finish) set(name string, revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revisions[name] = revision
}

// mark changes everything that is watched for the last time, once the cluster does as it is told again.
func mark(cfg Config, rec *history.Recorder, end *finish) error {
	w, err := newWorker(cfg, rec, cfg.Clients+1)
	if err != nil {
		return err
	}
	defer w.close()
	keys := map[string]string{} // to write, for the key or prefix that is watched
	var names []string
	for i := range watchGroups {
		names = append(names, watchGroup(i))
		keys[watchGroup(i)] = watchGroup(i) + "end"
	}
	for i := range watchKeys {
		names = append(names, hotKey(i))
		keys[hotKey(i)] = hotKey(i)
	}
	names = append(names, "watch/")
	keys["watch/"] = "watch/end"
	for _, name := range names {
		op := w.put(keys[name], w.word())
		for begin := time.Now(); op.Outcome != history.OK; op = w.put(keys[name], w.word()) {
			if time.Since(begin) > convergeTime {
				return errors.New("the last changes could not be written: " + op.Error)
			}
		}
		end.set(name, op.Result)
	}
	return nil
}

func watchGroup(i int) string { return fmt.Sprintf("watch/%d/", i%watchGroups) }

// write writes below a prefix of its own in the group, and now and then a key that all write. After a write of unknown
// outcome it goes on below another prefix.
func (w *worker) write(ctx context.Context, group string) {
	for epoch := 0; ctx.Err() == nil; {
		mine := fmt.Sprintf("%s%d.%d/", group, w.id, epoch)
		key := fmt.Sprintf("%sk%d", mine, w.random.IntN(watchKeys))
		var op history.Op
		switch p := w.random.IntN(100); {
		case p < 8:
			op = w.put(hotKey(p), w.word())
		case p < 10:
			op = w.delete(hotKey(p))
		case p < 14:
			op = w.prune(mine)
		case p < 26:
			op = w.delete(key)
		default:
			op = w.put(key, w.word())
		}
		if op.Outcome == history.Info {
			epoch++
		}
		w.rest(watchRest)
	}
}

// patient is a context for one try of a watcher: while there are faults it ends after a while, so that watchers wander
// from node to node; after that it ends with the watching.
func (w *worker) patient(run, watching context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(watching)
	timer := time.AfterFunc(watchLeast+time.Duration(w.random.Int64N(int64(watchMost-watchLeast))), func() {
		if run.Err() == nil {
			cancel()
		}
	})
	return ctx, func() { timer.Stop(); cancel() }
}

// follow streams the changes below a prefix and resumes where it was, at another node each time. Told that changes may
// be missing it lists, and goes on behind them.
func (w *worker) follow(run, watching context.Context, prefix string, end *finish) {
	at := uint64(0)
	for watching.Err() == nil && !end.reached(prefix, at) {
		ctx, done := w.patient(run, watching)
		op := w.stream(ctx, prefix, at, func(revision uint64) bool { return end.reached(prefix, revision) })
		done()
		if at = op.Result; op.Gap > 0 {
			at = op.Gap
			w.list(prefix, false)
		}
		w.raw.at = (w.raw.at + 1) % len(w.raw.endpoints)
		w.rest(watchRest)
	}
}

// loop reads a key or a prefix again and again, each time once it has changed behind the index of the last answer.
func (w *worker) loop(run, watching context.Context, kind history.Kind, key string, end *finish) {
	path := keyPath(key) + "?wait=" + watchWait
	if kind == history.List {
		path += "&recurse"
	}
	for at := uint64(0); watching.Err() == nil && !end.reached(key, at); {
		ctx, done := w.patient(run, watching)
		op := history.Op{Client: w.id, Kind: kind, Key: key, Mode: "waiting", Call: w.rec.Now(), Extra: history.Extra{Since: at}}
		var err error
		if w.typed() {
			err = w.typedWait(ctx, &op)
		} else {
			err = w.wait(ctx, fmt.Sprintf("%s&index=%d", path, at), &op)
		}
		done()
		if op.Return = w.rec.Now(); err == nil {
			op.Outcome, at = history.OK, op.Index
			w.rec.Add(op)
			continue
		}
		w.raw.at = (w.raw.at + 1) % len(w.raw.endpoints)
		w.rest(watchRest)
	}
}

// wait is one query that waits, at one node.
func (w *worker) wait(ctx context.Context, path string, op *history.Op) error {
	a, err := w.raw.once(ctx, http.MethodGet, w.raw.endpoints[w.raw.at]+path, nil)
	if err != nil {
		return err
	}
	list, err := entries(a)
	op.Index = a.number(api.HeaderIndex)
	for _, e := range list {
		op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex})
	}
	if op.Absent = len(list) == 0; op.Kind == history.Get && !op.Absent {
		op.Value, op.Entries = op.Entries[0].Value, nil
	}
	return err
}
