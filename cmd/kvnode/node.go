package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"tenure/server"
)

const logTime = "2006-01-02T15:04:05.000Z07:00"

// runNode runs the server until it fails or a signal asks it to stop.
func runNode(ctx context.Context, cfg server.Config, s *settings, stderr io.Writer) error {
	cfg.Logger = newLogger(stderr, s.logFormat, s.logLevel)
	ctx, done := onSignal(ctx, func(sig os.Signal) {
		cfg.Logger.Info().Stringer("signal", sig).Msg("stopping; a second signal ends the process at once")
	}, func() {
		cfg.Logger.Warn().Msg("second signal: ended at once")
		os.Exit(1)
	})
	defer done()
	err := run(ctx, cfg)
	if err != nil && exitCode(err) != 2 {
		cfg.Logger.Error().Err(err).Msg("stopped") // the line on standard error is for people, this one for collectors
	}
	return err
}

// onSignal ends the context at the first SIGTERM or SIGINT, after telling first, and calls second at the next one.
// done ends the watch.
func onSignal(ctx context.Context, first func(os.Signal), second func(), also ...os.Signal) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, append(also, syscall.SIGTERM, syscall.SIGINT)...)
	over := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-ch:
				if n == 0 {
					first(sig)
					cancel()
				} else {
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

// newLogger writes to stderr, for people if it is a terminal and nothing else was asked for.
func newLogger(stderr io.Writer, format string, level zerolog.Level) zerolog.Logger {
	f, isFile := stderr.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	if format == "" {
		format = "json"
		if terminal {
			format = "console"
		}
	}
	zerolog.TimeFieldFormat = logTime
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	if format == "console" {
		stderr = zerolog.ConsoleWriter{Out: stderr, NoColor: !terminal, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(stderr).Level(level).With().Timestamp().Logger()
}
