package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/server/metrics"
)

// Stdout is the Config.Path of standard output.
const Stdout = "-"

// The bounds of a Config.
const (
	MinFileBytes = 64 << 10
	MaxKeep      = 10_000
)

// queueBytes bounds the lines that wait to be written.
const queueBytes = 8 << 20

// complainEvery is how often the node's log says that lines are lost or that the file cannot be written.
const complainEvery = 10 * time.Second

// Config says where the audit log goes.
type Config struct {
	// Path is the file, or Stdout.
	Path string
	// FileBytes is the size from which a file is moved to Path.1, and that to Path.2, and so on.
	FileBytes int64
	// Keep is how many such files are kept beside Path.
	Keep int
	// DeniedEach is how many requests from one source that were denied have a line in a second; 0: as many as is usual.
	DeniedEach int
}

// Validate returns an error that says what is wrong with c, or nil.
func (c Config) Validate() error {
	switch {
	case c.Path == "":
		return errors.New("the name of the audit log is empty: give a file, or - for standard output")
	case c.Path == Stdout:
		return nil
	case c.FileBytes < MinFileBytes:
		return fmt.Errorf("audit log: files of %d bytes: must be at least %d", c.FileBytes, MinFileBytes)
	case c.Keep < 0 || c.Keep > MaxKeep:
		return fmt.Errorf("audit log: %d old files: must be from 0 to %d", c.Keep, MaxKeep)
	}
	return nil
}

// Log is an audit log. A nil Log takes records and writes none. All methods are safe for concurrent use.
type Log struct {
	node uint64
	to   io.WriteCloser
	log  zerolog.Logger
	wake chan struct{} // capacity 1
	done chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	waiting batch
	untold  uint64 // lines that were lost and of which no line tells yet
	denied  denials
	lines   uint64 // written
	lost    uint64
	failed  uint64 // writes that failed
	said    bool   // that writing fails, and not yet that it goes on
	closed  bool

	complained time.Time // when it was last said that lines are lost
}

// batch is whole lines.
type batch struct {
	lines  []byte
	losses []loss
}

// loss is where in a batch a line ends that tells of lost ones.
type loss struct {
	end  int
	lost uint64
}

// Open opens the audit log of a node. stdout is what Stdout stands for; it is not closed.
func Open(cfg Config, node uint64, stdout io.Writer, log zerolog.Logger) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var to io.WriteCloser = &unclosed{Writer: stdout}
	if cfg.Path != Stdout {
		f, err := openFile(cfg)
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		to = f
	}
	l := &Log{node: node, to: to, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		denied: denials{each: cmp.Or(cfg.DeniedEach, deniedEach)}}
	go l.write()
	return l, nil
}

// unclosed is standard output, which is not the log's to close.
type unclosed struct {
	io.Writer
	torn bool // the last line was cut off
}

// Write ends a line first that an earlier Write has cut off.
func (u *unclosed) Write(lines []byte) (int, error) {
	if u.torn {
		if _, err := u.Writer.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		u.torn = false
	}
	n, err := u.Writer.Write(lines)
	if n > 0 {
		u.torn = lines[n-1] != '\n'
	}
	return n, err
}

// Close does nothing.
func (*unclosed) Close() error { return nil }

// Register registers the figures of the log.
func (l *Log) Register(reg prometheus.Registerer) {
	if l == nil {
		return
	}
	read := func(of *uint64) func() float64 {
		return func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return float64(*of)
		}
	}
	metrics.CounterFunc(reg, "audit_lines_total", "Lines written to the audit log.", read(&l.lines))
	metrics.CounterFunc(reg,
		"audit_lost_total", "Acts of which no line was written, because the audit log was too slow or failed.",
		read(&l.lost))
	metrics.CounterFunc(reg, "audit_failures_total", "Writes of the audit log that failed.", read(&l.failed))
}

// Add has the record written, with the number of the node. It does not wait for that.
func (l *Log) Add(r Record) {
	if l == nil {
		return
	}
	l.mu.Lock()
	complain := l.tellDenied(r.Time, false)
	if r.Outcome != Denied || l.denied.takes(r.From) {
		complain = l.enqueue(r) || complain
	} else if l.denied.late == nil && !l.closed {
		l.denied.late = time.AfterFunc(time.Second, l.tellLate)
	}
	lost := l.lost
	l.mu.Unlock()
	if complain {
		l.log.Error().Uint64("lost", lost).Msg("lines of the audit log are lost: it cannot be written fast enough")
	}
	l.wakeWriter()
}

// tellDenied adds lines about denied requests that have none. It returns what enqueue does. The caller holds mu.
func (l *Log) tellDenied(now time.Time, ends bool) (complain bool) {
	for _, r := range l.denied.over(now, ends) {
		complain = l.enqueue(r) || complain
	}
	return complain
}

// tellLate tells of denied requests without a line, when a second is over.
func (l *Log) tellLate() {
	l.mu.Lock()
	l.denied.late = nil
	if !l.closed {
		l.tellDenied(time.Now(), true)
	}
	l.mu.Unlock()
	l.wakeWriter()
}

// enqueue adds the line of r to those that wait, or counts it as lost, and reports whether to say so. The caller holds
// mu.
func (l *Log) enqueue(r Record) (complain bool) {
	r.Node = l.node
	line := r.line()
	w := &l.waiting
	if l.closed || len(w.lines)+len(line) > queueBytes {
		return l.lose(1, r.Time)
	}
	if l.untold > 0 {
		told := Record{Time: r.Time, Node: l.node, Act: actLost, Outcome: Unknown, Lost: l.untold}
		w.lines = append(w.lines, told.line()...)
		w.losses = append(w.losses, loss{end: len(w.lines), lost: l.untold})
		l.untold = 0
	}
	w.lines = append(w.lines, line...)
	return false
}

// lose counts lines that are not written, and reports whether to say so. The caller holds mu.
func (l *Log) lose(n uint64, now time.Time) bool {
	l.lost += n
	l.untold += n
	due := l.complained.IsZero() || now.Sub(l.complained) >= complainEvery
	if due {
		l.complained = now
	}
	return due
}

// write writes what waits until the log is closed.
func (l *Log) write() {
	defer close(l.done)
	var b batch
	for range l.wake {
		var closed bool
		b, closed = l.drain(batch{b.lines[:0], b.losses[:0]})
		if len(b.lines) > 0 {
			l.written(b)
		}
		if closed && len(b.lines) == 0 {
			return
		}
	}
}

// drain returns the lines that wait, and whether the log is closed. empty becomes the space for those that come.
func (l *Log) drain(empty batch) (b batch, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, l.waiting = l.waiting, empty
	if l.closed {
		l.wakeWriter()
	}
	return b, l.closed
}

// wakeWriter has the writer look for lines.
func (l *Log) wakeWriter() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// written writes the lines. Lines that cannot be written are lost: the disk may be full, and requests must not wait for
// it. A lost line that reports lost acts does not count as a lost act itself, and its acts remain to be reported.
func (l *Log) written(b batch) {
	n, err := l.to.Write(b.lines)
	whole, part := bytes.Count(b.lines[:n], []byte{'\n'}), bytes.Count(b.lines[n:], []byte{'\n'})
	l.mu.Lock()
	l.lines += uint64(whole)
	complain := false
	if err != nil {
		l.failed++
		for _, told := range b.losses {
			if told.end > n {
				l.untold += told.lost
				part--
			}
		}
		complain = l.lose(uint64(part), time.Now())
	}
	lost, recovered := l.lost, l.said && err == nil
	switch {
	case recovered:
		l.said = false
	case complain && part > 0:
		l.said = true
	}
	l.mu.Unlock()
	switch {
	case recovered:
		l.log.Info().Uint64("lost", lost).Msg("the audit log is written again; lost: lines since the node has started")
	case !complain:
	case part == 0:
		l.log.Error().Err(err).Msg("the audit log is in trouble, but no line is lost")
	default:
		l.log.Error().Err(err).Int("lost", part).Msg("the audit log cannot be written: lines are lost")
	}
}

// Close writes what waits and closes the file. It gives up when ctx ends: a reader of standard output may never read.
func (l *Log) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if !l.closed {
		l.tellDenied(time.Now(), true)
	}
	if l.closed = true; l.denied.late != nil {
		l.denied.late.Stop()
	}
	l.mu.Unlock()
	l.wakeWriter()
	select {
	case <-l.done:
		return l.to.Close()
	case <-ctx.Done():
		return fmt.Errorf("audit log: what waits was not written: %w", ctx.Err())
	}
}
