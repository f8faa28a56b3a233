package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/jepsen/history"
)

const (
	watchGroups = 2 // prefixes below which writers write
	watchKeys   = 4 // that a writer writes in turn, and that all write
	watchRest   = 8 * time.Millisecond
	watchWait   = time.Minute
	// watchLeast and watchMost bound how long a watcher stays with a node while there are faults.
	watchLeast, watchMost = time.Second, 4 * time.Second
	// convergeTime is the time after the last fault within which each watcher must have seen the last change.
	convergeTime = 20 * time.Second
)

// watches makes some clients write and the others watch: by streams that resume at other nodes, and by queries that
// wait for changes of a prefix or a key. At the end each watcher must see the last change without asking again.
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
			watchers.Go(func() { defer w.close(); w.reread(ctx, watching, history.List, group, end) })
		case 4:
			watchers.Go(func() { defer w.close(); w.reread(ctx, watching, history.Get, hotKey(i/5), end) })
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

// finish is the revision at which a watcher of a key or prefix has seen everything.
type finish struct {
	mu        sync.Mutex
	revisions map[string]uint64
}

// reached reports whether a watcher at revision has seen everything.
func (f *finish) reached(name string, revision uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.revisions[name]
	return end > 0 && revision >= end
}

// set sets the revision of a key or prefix.
func (f *finish) set(name string, revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revisions[name] = revision
}

// mark changes everything that is watched for the last time, when the cluster takes writes again.
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
		op := w.keys.put(keys[name], w.gen.value())
		for begin := time.Now(); op.Outcome != history.OK; op = w.keys.put(keys[name], w.gen.value()) {
			if time.Since(begin) > convergeTime {
				return errors.New("the last changes could not be written: " + op.Error)
			}
		}
		end.set(name, op.Result)
	}
	return nil
}

func watchGroup(i int) string { return fmt.Sprintf("watch/%d/", i%watchGroups) }

// write writes below a prefix of its own in the group, and now and then a key that all clients write. After a write of
// unknown outcome it takes another prefix.
func (w *worker) write(ctx context.Context, group string) {
	for epoch := 0; ctx.Err() == nil; {
		mine := fmt.Sprintf("%s%d.%d/", group, w.id, epoch)
		key := fmt.Sprintf("%sk%d", mine, w.gen.IntN(watchKeys))
		var op history.Op
		switch p := w.gen.IntN(100); {
		case p < 8:
			op = w.keys.put(hotKey(p), w.gen.value())
		case p < 10:
			op = w.keys.delete(hotKey(p))
		case p < 14:
			op = w.keys.prune(mine)
		case p < 26:
			op = w.keys.delete(key)
		default:
			op = w.keys.put(key, w.gen.value())
		}
		if op.Outcome == history.Info {
			epoch++
		}
		w.gen.rest(watchRest)
	}
}

// attempt returns a context for one request of a watcher. While there are faults it ends after a while, so that
// watchers go from node to node. After that it ends with watching.
func (w *worker) attempt(run, watching context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(watching)
	timer := time.AfterFunc(watchLeast+time.Duration(w.gen.Int64N(int64(watchMost-watchLeast))), func() {
		if run.Err() == nil {
			cancel()
		}
	})
	return ctx, func() { timer.Stop(); cancel() }
}

// follow streams the changes below a prefix and resumes where it was, at another node each time. When changes may be
// missing, it lists and continues after them.
func (w *worker) follow(run, watching context.Context, prefix string, end *finish) {
	at := uint64(0)
	for watching.Err() == nil && !end.reached(prefix, at) {
		ctx, done := w.attempt(run, watching)
		op := w.streams.follow(ctx, prefix, at, func(revision uint64) bool { return end.reached(prefix, revision) })
		done()
		if at = op.Result; op.Gap > 0 {
			at = op.Gap
			w.keys.list(prefix, false)
		}
		w.conn.raw.next()
		w.gen.rest(watchRest)
	}
}

// reread reads a key or a prefix again and again, each time after it has changed since the last answer.
func (w *worker) reread(run, watching context.Context, kind history.Kind, key string, end *finish) {
	for at := uint64(0); watching.Err() == nil && !end.reached(key, at); {
		ctx, done := w.attempt(run, watching)
		op, err := w.streams.wait(ctx, kind, key, at)
		done()
		if err == nil {
			at = op.Index
			continue
		}
		w.conn.raw.next()
		w.gen.rest(watchRest)
	}
}
