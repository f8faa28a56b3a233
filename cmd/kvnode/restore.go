package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"tenure/internal/input"
	"tenure/internal/ownfile"
	"tenure/internal/progress"
	"tenure/internal/shown"
	"tenure/server/backup"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// restoreFlags are the flags of kvnode restore.
type restoreFlags struct {
	data       string
	at         string
	cluster    string
	identities []string // files
	list, json bool
}

func newRestore(stdout, stderr io.Writer) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE|URL|-|TARGET",
		Short: "Make the data directory of a new cluster's first node from a backup or an archive",
		Long: "Make the data directory of a new cluster, with one voter and a new cluster id, from a file of\n" +
			"kvctl backup create, or from the directory or bucket to which nodes have archived (kvnode\n" +
			"--archive). The directory is made completely or not at all. Then start a node on it, and let the\n" +
			"others join with kvnode --join on empty directories.\n\n" +
			"From an archive, --at restores any revision or any time. Without --at the end of the archive is\n" +
			"restored; --list says what can be.\n\n" +
			"Nodes of the old cluster cannot talk to the new one. Revisions, fencing tokens and epochs\n" +
			"continue above the old ones, and retries of old writes are refused. If the old cluster may still\n" +
			"run, stop it before clients use the new one.",
		Example: "  kvnode restore tenure.backup --data ./new1\n" +
			"  kvnode restore /mnt/archive --list\n" +
			"  kvnode restore s3://backups/tenure --at 2026-11-23T02:00:00Z --data ./new1\n" +
			"  kvnode restore /mnt/archive --at 48211 --data ./new1\n" +
			"  kvnode restore s3://backups/tenure/NAME.backup.age --identity key.txt --data ./new1\n" +
			"  kvnode --data ./new1 --peer 10.0.0.1:8300 --client 10.0.0.1:8500 --insecure",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return badConfig("restore: give the file that kvctl backup create has written, or the target of " +
					"--archive")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args[0], cmd.Flags().Changed("data")); err != nil {
				return err
			}
			ctx, done := untilSignal(cmd.Context())
			defer done()
			switch {
			case f.list:
				return listRestorable(ctx, args[0], f, stdout)
			case isArchive(args[0]):
				return restoreArchive(ctx, args[0], f, stdout, stderr)
			}
			err := restoreFile(ctx, args[0], f, cmd.InOrStdin(), stdout, stderr)
			if errors.As(err, new(*ownfile.OtherUser)) && args[0] != stdinName && !target.IsURL(args[0]) {
				return &readingError{error: err, file: args[0]}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&f.data, "data", defaultData, "data directory to make; must be empty, or not there")
	cmd.Flags().StringArrayVar(&f.identities, "identity", nil, "file with the age identity to decrypt with "+
		"(repeatable)")
	cmd.Flags().StringVar(&f.at, "at", "", "of an archive: the revision or the time (RFC 3339) to restore; default: "+
		"its end")
	cmd.Flags().StringVar(&f.cluster, "cluster-id", "", "of an archive of several clusters: which one, by the "+
		"beginning of its id")
	cmd.Flags().BoolVar(&f.list, "list", false, "of an archive: restore nothing, and print which revisions and times can "+
		"be restored")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --list, write a JSON object")
	return cmd
}

// check refuses flags that would be ignored.
func (f *restoreFlags) check(name string, dataGiven bool) error {
	archive := isArchive(name)
	if !archive && name != stdinName && !target.IsURL(name) {
		if err := target.CheckText(name); err != nil {
			return badConfig("restore: %v", err)
		}
		if _, err := os.Stat(name); err != nil {
			return cannotRead(name, err, "give the file or the URL of a backup that kvctl backup create has written, or the "+
				"target of --archive")
		}
	}
	switch {
	case f.json && !f.list:
		return badConfig("restore: --json is for --list")
	case f.list && !archive:
		return badConfig("restore: --list is for an archive, and %s is a backup; kvctl backup verify says what is in it", name)
	case f.list && f.at != "":
		return badConfig("restore: --list restores nothing; leave out --at")
	case f.list && dataGiven:
		return badConfig("restore: --list restores nothing; leave out --data")
	case !archive && (f.at != "" || f.cluster != ""):
		return badConfig("restore: --at and --cluster-id are for an archive, and %s is a backup, which has one revision only",
			name)
	}
	return nil
}

// isArchive reports whether what is to be restored is an archive: a directory, or a URL that does not end in the name
// of a backup.
func isArchive(name string) bool {
	if target.IsURL(name) {
		_, last, err := target.Split(name)
		return err != nil || !strings.HasSuffix(strings.TrimSuffix(last, ".age"), ".backup")
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// untilSignal returns a context that SIGINT and SIGTERM end, so that the command can remove its unfinished work. A
// second signal ends the process at once.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel)
	return ctx, cancel
}

// restoreFile restores a backup: a file, the object of a URL, or standard input.
func restoreFile(ctx context.Context, name string, f restoreFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	keys, err := input.Await(ctx, "the identities", func() ([]age.Identity, error) {
		return target.Identities(f.identities)
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return badConfig("%v", ownfile.Unreadable(err))
	}
	r, size := io.NopCloser(stdin), int64(0)
	if name != stdinName {
		r, err = input.Await(ctx, name, func() (r io.ReadCloser, err error) {
			r, size, err = target.OpenObject(ctx, name)
			return r, err
		})
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return cannotRead(name, err, "give the file or the URL of a backup that kvctl backup create has written")
		}
	}
	defer r.Close()
	var meter *progress.Meter
	if progress.IsTerminal(stderr) {
		meter = progress.New(stderr, "restore", size, "bytes")
	}
	made, info, err := restoreBackup(&metered{ctx, input.NewReader(ctx, r, name), meter}, keys, f.data)
	meter.End()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(shown.Writer(stdout), "%s is node %d of cluster %s, alone, at revision %d, from a backup of "+
		"cluster %s at revision %d, made %s.\nStart it, and have the others join: kvnode --data %s --peer "+
		"HOST:PORT --client HOST:PORT\n",
		made.Dir, made.Node, made.Cluster, made.Revision, info.Cluster, info.Revision,
		info.Made.UTC().Format("2006-01-02 15:04:05 MST"), shown.Word(made.Dir))
	return err
}

// restoreBackup restores a backup, which may be encrypted.
func restoreBackup(r io.Reader, keys []age.Identity, data string) (recovery.Result, backup.Info, error) {
	plain, _, err := target.Plain(r, keys)
	switch {
	case errors.Is(err, target.ErrNoIdentity):
		err = fmt.Errorf("the backup: %w; give --identity FILE", err)
	case errors.Is(err, target.ErrWrongIdentity):
		err = fmt.Errorf("the backup: %w; give the --identity of one of its recipients", err)
	}
	if err != nil {
		return recovery.Result{}, backup.Info{}, err
	}
	return recovery.Restore(plain, data)
}

// errInterrupted is what a signal ends a restore with.
var errInterrupted = errors.New("interrupted; nothing was restored")

// metered shows how much was read. It ends with ctx.
type metered struct {
	ctx   context.Context
	r     io.Reader
	meter *progress.Meter
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.ctx.Err() != nil {
		return 0, errInterrupted
	}
	m.meter.Add(int64(n))
	return n, err
}
