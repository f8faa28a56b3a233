package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"

	"tenure/internal/buildinfo"
	"tenure/internal/progress"
	"tenure/server"
	"tenure/server/recovery"
)

const logTime = "2006-01-02T15:04:05.000Z07:00"

// run is the server; a test puts another in its place. It returns nil after an orderly stop, which the end of its
// context asks for.
var run = server.Run

// errNotReady is the end of a node that was to be ready before it stops, and was told to stop before.
var errNotReady = errors.New("stopped before the node was ready: type the command again")

// runNode runs the server until it fails or a signal asks it to stop.
func runNode(ctx context.Context, cfg server.Config, s *settings, stderr io.Writer) error {
	if err := recovery.Finished(cfg.Data); err != nil {
		return err
	}
	logger, flush := newLogger(stderr, s.process.logFormat, s.process.logLevel)
	defer flush()
	cfg.Logger = logger
	if len(s.ofServices) > 0 {
		logger.Info().Strs("variables", s.ofServices).
			Msg("these are no settings but those of a Kubernetes Service; they are ignored")
	}
	if os.Getpid() == 1 && len(cfg.Guardian) > 0 {
		logger.Warn().Msg("this node is process 1, and when that ends the kernel kills its guardian too: a crash costs the " +
			"rest of the lease; start it with kvnode init")
	}
	s.tellReplace(logger)
	info := buildinfo.Read()
	cfg.Version, cfg.Revision, cfg.Settings = info.Version, info.Revision, s.changed()
	to := &supervisor{log: logger}
	ctx, done := onSignal(ctx, func(sig os.Signal) {
		to.stopping()
		cfg.Logger.Info().Stringer("signal", sig).Msg("stopping; a second signal ends the process at once")
	}, func() {
		cfg.Logger.Warn().Msg("second signal: ended at once")
		flush()
		os.Exit(exitFailed)
	})
	defer done()
	cfg.Reload = onHangup(ctx, cfg.TLS, cfg.Logger, to)
	var ready atomic.Bool // the node has been, with --stop-when-ready
	switch {
	case s.onlyReady:
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		cfg.Told = func(x server.Stage) {
			if x.Ready {
				logger.Info().Msg("the node is ready, and stops: start it as before")
				ready.Store(true)
				stop()
			}
		}
	case os.Getenv("NOTIFY_SOCKET") != "": // somebody listens
		cfg.Told = to.stage
	}
	if adaptive {
		s.process.schedule(ctx, logger)
		limitMemory(logger)
		go giveBackMemory(ctx)
	}
	err := s.withAdvice(run(ctx, cfg))
	if err == nil && s.onlyReady && !ready.Load() {
		err = errNotReady
	}
	// The last lines on standard error are for people, this one for log collectors.
	switch {
	case formatOf(stderr, s.process.logFormat) == formatText:
	case server.Removed(err):
		cfg.Logger.Info().Err(err).Msg("stopped")
	case err != nil && exitCode(err) != exitConfig:
		cfg.Logger.Error().Err(err).Msg("stopped")
	}
	return err
}

// schedule has the kernel and Go schedule this process as the settings say.
func (p *processSettings) schedule(ctx context.Context, logger zerolog.Logger) {
	if p.slack > 0 {
		if err := relaxMonitor(p.slack); err != nil {
			logger.Debug().Err(err).Msg("Go's monitor thread keeps its timer slack")
		}
	}
	if p.realtime {
		if err := beRealtime(); err != nil {
			logger.Warn().Err(err).Msg("--realtime has no effect: it needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 1")
		}
	}
	if p.batch {
		if err := beBatch(); err != nil {
			logger.Debug().Err(err).Msg("threads keep their scheduling policy")
		}
	}
	if p.adapt {
		go adaptProcessors(ctx)
	}
}

// oneSignal is the time within which a second signal counts as the first: a supervisor may signal the process and its
// group.
const oneSignal = 300 * time.Millisecond

// onSignal ends the context at the first SIGTERM or SIGINT, after calling first, and calls second at the next one,
// until done is called. SIGPIPE does nothing from now on: a node goes on when the reader of its log is gone.
func onSignal(ctx context.Context, first func(os.Signal), second func(), also ...os.Signal) (_ context.Context,
	done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, append(also, syscall.SIGTERM, syscall.SIGINT)...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	over := make(chan struct{})
	go func() {
		var since time.Time
		for {
			select {
			case sig := <-ch:
				switch {
				case since.IsZero():
					since = time.Now()
					first(sig)
					cancel()
				case time.Since(since) > oneSignal:
					second()
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(over)
		cancel()
	}
}

// The values of --log-format.
const (
	formatJSON = "json"
	formatText = "text"
)

// maxLogLines is how many lines may wait for whoever reads standard error; more are dropped and counted.
const maxLogLines = 4096

// formatOf returns the format of the log: that of --log-format if it is set, else text where people read it.
func formatOf(stderr io.Writer, format string) string {
	if format == "" && (progress.IsTerminal(stderr) || isJournal(stderr)) {
		return formatText
	}
	return or(format, formatJSON)
}

// newLogger returns a logger to stderr, for people if it is a terminal or the journal and format is not set. It never
// waits: a reader that stalls must not delay a loop that logs, least of all that of the lease. flush writes the lines
// in flight.
func newLogger(stderr io.Writer, format string, level zerolog.Level) (logger zerolog.Logger, flush func()) {
	format = formatOf(stderr, format)
	terminal, toJournal := progress.IsTerminal(stderr), isJournal(stderr)
	zerolog.TimeFieldFormat = logTime
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	form := func(to io.Writer) io.Writer { return jsonLines{to} }
	if format == formatText {
		form = func(to io.Writer) io.Writer { return consoleWriter(to, terminal, !toJournal) }
	}
	if toJournal {
		stderr = newJournalLines(stderr, form)
	} else {
		stderr = form(stderr)
	}
	// The bare Writer keeps Close from closing standard error itself.
	ring := diode.NewWriter(struct{ io.Writer }{stderr}, maxLogLines, 0, func(missed int) {
		fmt.Fprintf(stderr, "kvnode: %d lines of log were dropped: standard error is not read fast enough\n", missed)
	})
	var once sync.Once
	flush = func() { once.Do(func() { _ = ring.Close() }) }
	return zerolog.New(ring).Level(level).With().Timestamp().Logger(), flush
}
