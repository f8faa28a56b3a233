//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"tenure/client"
	"tenure/internal/progress"
	"tenure/server/backup"
	"tenure/server/recovery"
)

func newBackup(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "backup", Short: "Make and verify backups of the whole store"},
		newBackupCreate(a), newBackupVerify(a), newBackupStatus(a))
}

// backupJSON is what is told of a backup with --json.
type backupJSON struct {
	File     string    `json:"file"`
	Cluster  string    `json:"cluster"`
	Revision uint64    `json:"revision"`
	Slot     uint64    `json:"slot"`
	Era      uint64    `json:"era"`
	Made     time.Time `json:"made"`
	Records  uint64    `json:"records"`
	Bytes    uint64    `json:"bytes"`
	Restored bool      `json:"restored"`
}

func backupOut(file string, i backup.Info, bytes uint64) backupJSON {
	return backupJSON{
		File: file, Cluster: i.Cluster.String(), Revision: i.Revision, Slot: i.Slot, Era: i.Era, Made: i.Made.UTC(),
		Records: i.Records, Bytes: bytes,
	}
}

func (b *backupJSON) text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "cluster   %s\nrevision  %d\nera       %d\nmade      %s\nrecords   %d\nbytes     %d\n",
		b.Cluster, b.Revision, b.Era, b.Made.Format(time.RFC3339), b.Records, b.Bytes)
	return err
}

func newBackupCreate(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "create FILE|-",
		Short: "Write a backup of the whole store to a file, or to standard output",
		Long: "Write a backup of the whole store: keys, sessions, fences and the memory of idempotency keys, as they\n" +
			"are after one write. It has every write that was acknowledged before the command began. It comes from\n" +
			"any node that knows a master, while the cluster runs on.\n\n" +
			"The backup is written to FILE.partial, verified as it is read, synced, and then gets its name: a FILE\n" +
			"is whole. One that is there already is kept, unless --force is given. kvnode restore makes a new\n" +
			"cluster of it.",
		Example: "  kvctl backup create /backups/tenure-$(date +%F)\n" +
			"  kvctl backup create - | age -r age1... > tenure.age",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if cmd.Flags().Changed("timeout") {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, a.timeout)
				defer cancel()
			}
			if args[0] == "-" {
				return a.backupToStdout(ctx, c)
			}
			return a.backupToFile(ctx, c, args[0], force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there, once the new backup is whole")
	a.timeoutFlag(cmd, "time limit (default: none, but 10s to find a node)")
	return cmd
}

func (a *app) backupToStdout(ctx context.Context, c *client.Client) error {
	if a.onTerminal(a.stdout) {
		return usage("a backup is no text for a terminal; name a file, or redirect the output")
	}
	out, err := a.receiveBackup(ctx, c, a.stdout)
	if err != nil {
		return err
	}
	a.note("cluster %s, revision %d, %d records, %d bytes", out.Cluster, out.Revision, out.Records, out.Bytes)
	return nil
}

func (a *app) backupToFile(ctx context.Context, c *client.Client, file string, force bool) error {
	if err := mayWrite(file, force); err != nil {
		return err
	}
	f, err := openPartial(file + ".partial")
	if err != nil {
		return err
	}
	defer f.Close() // its lock goes with it, so only when it has its name
	out, err := a.receiveBackup(ctx, c, f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = mayWrite(file, force)
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := syncDir(filepath.Dir(file)); err != nil {
		return err
	}
	out.File = file
	return a.print(out, out.text)
}

// mayWrite refuses a file that is there already.
func mayWrite(file string, force bool) error {
	if _, err := os.Lstat(file); !force && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already, and kept; --force replaces it", file)
	}
	return nil
}

// openPartial opens an empty file that no other kvctl writes to. What one that was killed has left is used again.
func openPartial(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s is being written by another kvctl", name)
	}
	if err == nil {
		err = isStill(f, name) // else it got its name, or was removed, before the lock
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isStill returns an error unless name is the name of f.
func isStill(f *os.File, name string) error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(name); err != nil || !os.SameFile(own, now) {
		return fmt.Errorf("%s was being written by another kvctl", name)
	}
	return nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// receiveBackup writes a backup to w, and verifies it as it comes.
func (a *app) receiveBackup(ctx context.Context, c *client.Client, w io.Writer) (backupJSON, error) {
	body, err := c.Nodes().Backup(ctx)
	if err != nil {
		return backupJSON{}, err
	}
	defer body.Close()
	return a.readBackup(io.TeeReader(body, w), "backup")
}

// readBackup reads a backup to its end, and shows how far it is.
func (a *app) readBackup(r io.Reader, name string) (backupJSON, error) {
	b, err := backup.Open(r)
	if err != nil {
		return backupJSON{}, err
	}
	meter := a.backupMeter(name, int64(b.Info().Records))
	err = b.Verify(func(records uint64) {
		if records%1000 == 0 {
			meter.Set(int64(records), "")
		}
	})
	meter.End()
	return backupOut("", b.Info(), b.Offset()), err
}

// backupMeter shows a bar where somebody watches, and else nothing: a nightly job is to be silent.
func (a *app) backupMeter(name string, records int64) *progress.Meter {
	if a.json || !a.onTerminal(a.stderr) {
		return nil
	}
	return progress.New(a.stderr, name, max(records, 1), "records")
}

func newBackupVerify(a *app) *cobra.Command {
	var restore bool
	var temp string
	cmd := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Read a backup, check all of it, and say what it is",
		Long: "Read all of a backup and check it: every checksum, the order and the number of the records, and that it\n" +
			"is whole. No cluster is needed. With --restore the backup is restored into a temporary directory as\n" +
			"kvnode restore does it, what is there is read back and compared by digest, and removed again.",
		Example: "  kvctl backup verify tenure.backup\n  kvctl backup verify tenure.backup --restore",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noReadMode(); err != nil {
				return err
			}
			if cmd.Flags().Changed("temp") && !restore {
				return usage("--temp is for --restore")
			}
			r := a.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				r = f
			}
			out, err := a.verifyBackup(r, restore, temp)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			out.File = args[0]
			return a.print(out, func(w io.Writer) error {
				if err := out.text(w); err != nil || !restore {
					return err
				}
				_, err := fmt.Fprintln(w, "restored into a temporary directory: all records are there, and their digest is "+
					"that of the backup")
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&restore, "restore", false, "restore it into a temporary directory, and compare")
	cmd.Flags().StringVar(&temp, "temp", "", "where to make that directory (default: that of the system)")
	return cmd
}

func (a *app) verifyBackup(r io.Reader, restore bool, temp string) (backupJSON, error) {
	if !restore {
		return a.readBackup(r, "verify")
	}
	dir, err := os.MkdirTemp(temp, "kvctl-restore-")
	if err != nil {
		return backupJSON{}, err
	}
	counted := &countingReader{r: r}
	_, info, err := recovery.Restore(counted, dir)
	err = errors.Join(err, os.RemoveAll(dir))
	out := backupOut("", info, counted.bytes)
	out.Restored = err == nil
	return out, err
}

// countingReader counts what is read.
type countingReader struct {
	r     io.Reader
	bytes uint64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += uint64(n)
	return n, err
}
