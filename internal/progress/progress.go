// Package progress shows how far a long run has come: with a bar where somebody watches, and with a plain line now and
// then where the output is kept in a file.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// LineEvery is the time between two plain lines.
	LineEvery = 30 * time.Second

	redrawEvery = 100 * time.Millisecond
	barWidth    = 30
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Meter is the display of one run. Its methods are safe for concurrent use; a nil Meter shows nothing.
type Meter struct {
	out   io.Writer
	name  string
	total int64 // 0: unknown
	unit  string
	now   func() time.Time

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil: plain lines
	began time.Time
	told  time.Time // the last plain line
	count int64
	text  string
}

// New starts the display on out of a run of total units, or of an unknown number if total is 0. unit is a plural; if it
// is empty, a bar shows the share that is done and no number.
func New(out io.Writer, name string, total int64, unit string) *Meter {
	m := &Meter{out: out, name: name, total: total, unit: unit, now: time.Now}
	m.began = m.now()
	m.told = m.began
	if IsTerminal(out) {
		length := total
		if total == 0 {
			length = -1
		}
		options := []progressbar.Option{
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(name),
			progressbar.OptionThrottle(redrawEvery),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(barWidth),
		}
		if unit != "" {
			options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(),
				progressbar.OptionSetItsString(unit))
		}
		m.bar = progressbar.NewOptions64(length, options...)
	}
	return m
}

// Add counts n more units as done.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.set(m.count+n, m.text)
	}
}

// Set shows count units as done, and text behind the name.
func (m *Meter) Set(count int64, text string) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.set(count, text)
	}
}

func (m *Meter) set(count int64, text string) {
	if m.total > 0 {
		count = min(count, m.total)
	}
	m.count, m.text = count, text
	if m.bar != nil {
		m.bar.Describe(m.describe())
		_ = m.bar.Set64(count) // a bar that cannot be drawn is not worth a failure
		return
	}
	if now := m.now(); now.Sub(m.told) >= LineEvery {
		m.line(now)
	}
}

// End takes the bar off the terminal, or writes the last line.
func (m *Meter) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
		_ = m.bar.Exit()
		return
	}
	m.line(m.now())
}

func (m *Meter) describe() string {
	return strings.TrimSpace(m.name + " " + m.text)
}

func (m *Meter) line(now time.Time) {
	m.told = now
	count := fmt.Sprint(m.count)
	if m.total > 0 {
		count += fmt.Sprintf(" of %d", m.total)
	}
	took := now.Sub(m.began)
	rate := ""
	if took >= time.Second {
		rate = fmt.Sprintf(", %.1f/s", float64(m.count)/took.Seconds())
	}
	fmt.Fprintf(m.out, "%s: %s %s after %v%s\n", m.describe(), count, m.unit, took.Round(time.Second), rate)
}
