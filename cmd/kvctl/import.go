package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/load"
	"tenure/cmd/kvctl/internal/output"
	"tenure/cmd/kvctl/internal/records"
	"tenure/internal/input"
)

// importWait bounds a write, including retries at other nodes.
const importWait = time.Minute

// importCommand is a run of kvctl import.
type importCommand struct {
	*app
	format, only, prefix, strip, conflict, resume, etcd string
	dryRun                                              bool
}

// imported is the result of kvctl import.
type imported struct {
	Written int    `json:"written"`
	Skipped int    `json:"skipped"` // because they existed
	Before  int    `json:"before"`  // by the run that was resumed
	Unknown int    `json:"unknown"`
	Resume  string `json:"resume,omitempty"`
}

func newImport(a *app) *cobra.Command {
	x := &importCommand{app: a}
	cmd := &cobra.Command{
		Use:   "import FILE|-\n  kvctl import --from-etcd SNAPSHOT",
		Short: "Write the keys of a file: of kvctl export, consul kv export or etcd",
		Long: "Write every key of FILE, which kvctl export or consul kv export has written; - is standard\n" +
			"input. The first character tells the format: { begins ndjson, and [ the array of consul.\n\n" +
			"A FILE is read completely first: if any line is wrong, nothing is written. Keys are written in\n" +
			"transactions of up to " + fmt.Sprint(client.MaxTxnOps) + ", several at a time. Each has an idempotency\n" +
			"key, so every key is written exactly once, even when nodes fail. If the import ends early it\n" +
			"prints how many keys were written, how many have an unknown outcome, and a text for --resume.\n" +
			"The same command with --resume continues there and writes nothing twice. After an import that\n" +
			"was killed, run it again with --on-conflict skip.\n\n" +
			"The time to live of a key begins when the key is imported.\n\n" +
			"With --from-etcd the keys come from a file of etcdctl snapshot save, each at its newest\n" +
			"revision. The checksum of the file is verified. Leases, users, roles and older revisions are not\n" +
			"imported: a key with a lease becomes a key without.",
		Example: "  kvctl import all.ndjson\n  consul kv export | kvctl import - --prefix consul/\n" +
			"  kvctl import all.ndjson --strip prod/ --prefix test/ --dry-run\n" +
			"  kvctl import --from-etcd snapshot.db --only /app/ --strip /",
		Args: func(cmd *cobra.Command, args []string) error {
			if x.etcd != "" {
				return arguments(0, 0)(cmd, args)
			}
			return arguments(1, 1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			x.changes = !x.dryRun
			ctx, cancel := x.bounded(cmd)
			defer cancel()
			if x.etcd != "" {
				return x.importEtcd(ctx)
			}
			return x.importFile(ctx, args[0])
		},
	}
	x.addTo(cmd)
	a.timeoutFlag(cmd, "time limit (default: none, but 1m for each write)")
	return cmd
}

func (x *importCommand) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.format, "format", string(records.Auto), "ndjson, consul, or auto: by the first character")
	cmd.Flags().StringVar(&x.etcd, "from-etcd", "", "a file of etcdctl snapshot save, or a stopped etcd's "+
		"member/snap/db")
	cmd.Flags().StringVar(&x.only, "only", "", "import the keys that begin so, and no others")
	cmd.Flags().StringVar(&x.strip, "strip", "", "what to take off the beginning of every key; a key without it is "+
		"an error")
	cmd.Flags().StringVar(&x.prefix, "prefix", "", "what to put before every key, after --strip")
	cmd.Flags().StringVar(&x.conflict, "on-conflict", string(load.Overwrite),
		"what to do with a key that exists: overwrite, skip, or fail (the keys before it stay)")
	cmd.Flags().StringVar(&x.resume, "resume", "", "go on where the import has ended that printed this text")
	cmd.Flags().BoolVar(&x.dryRun, "dry-run", false, "read and check everything, and write nothing; needs no cluster")
}

// config returns the load.Config of the flags, without a source of records.
func (x *importCommand) config() (load.Config, error) {
	c := load.Config{Conflict: load.Conflict(x.conflict), Resume: load.NewResume(), Wait: importWait}
	switch records.Format(x.format) {
	case records.Auto, records.NDJSON, records.Consul:
	default:
		return c, usage("--format %q: there is auto, ndjson and consul", x.format)
	}
	switch c.Conflict {
	case load.Overwrite, load.Skip, load.Fail:
	default:
		return c, usage("--on-conflict %q: there is overwrite, skip and fail", x.conflict)
	}
	if x.resume == "" {
		return c, nil
	}
	var err error
	if c.Resume, err = load.ParseResume(x.resume); err != nil {
		return c, usage("--resume %.80q: %w", x.resume, err)
	}
	return c, nil
}

// rename returns a source of the records of next that --only selects, renamed by --strip and --prefix.
func (x *importCommand) rename(next func() (records.Record, error)) func() (records.Record, error) {
	return func() (records.Record, error) {
		r, err := next()
		for err == nil && !strings.HasPrefix(r.Key, x.only) {
			r, err = next()
		}
		if err != nil {
			return r, err
		}
		rest, ok := strings.CutPrefix(r.Key, x.strip)
		if !ok {
			return r, fmt.Errorf("key %.60q does not begin with %q, which --strip takes off", r.Key, x.strip)
		}
		r.Key = x.prefix + rest
		return r, r.Validate()
	}
}

// importFile imports a file, or standard input for "-".
func (x *importCommand) importFile(ctx context.Context, name string) error {
	if err := x.noReadMode(); err != nil {
		return err
	}
	c, err := x.config()
	if err != nil {
		return err
	}
	in, count := io.Reader(input.NewReader(ctx, x.stdin, standardInput)), 0
	if name != "-" {
		file, err := input.Open(ctx, name)
		if err != nil {
			return importEnded(err)
		}
		defer file.Close()
		in = input.NewReader(ctx, file, name)
		// Only a regular file can be read twice, and so be checked before anything is written.
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			if count, err = x.count(in); err != nil {
				return importEnded(fmt.Errorf("%s: %w; nothing was written", name, err))
			}
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			in = input.NewReader(ctx, file, name)
		}
	}
	if x.dryRun {
		if count == 0 {
			if count, err = x.count(in); err != nil {
				return importEnded(fmt.Errorf("%s: %w", name, err))
			}
		}
		return x.printImportable(count)
	}
	r, err := records.NewReader(in, records.Format(x.format))
	if err != nil {
		return importEnded(fmt.Errorf("%s: %w", name, err))
	}
	c.Next = x.rename(r.Next)
	return x.load(ctx, c, count)
}

// printImportable ends a run with --dry-run.
func (x *importCommand) printImportable(keys int) error {
	return x.printf(struct {
		Keys int `json:"keys"`
	}{keys}, "%s can be imported; nothing was written\n", output.Plural(uint64(keys), "key"))
}

// count reads r to its end.
func (x *importCommand) count(r io.Reader) (n int, err error) {
	in, err := records.NewReader(r, records.Format(x.format))
	if err != nil {
		return 0, err
	}
	return countRecords(x.rename(in.Next))
}

func countRecords(next func() (records.Record, error)) (n int, err error) {
	for {
		if _, err := next(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// load writes the records of c, of which there are total, or an unknown number if total is 0.
func (x *importCommand) load(ctx context.Context, c load.Config, total int) error {
	store, err := x.client(ctx)
	if err != nil {
		return err
	}
	c.Store = store
	meter := x.meter("import", int64(total), "keys")
	c.Progress = func(n int) { meter.Add(int64(n)) }
	result, err := load.Run(ctx, c)
	meter.End()
	out := imported{Written: result.Written, Skipped: result.Skipped, Before: result.Before, Unknown: result.Unknown}
	if result.Resume != nil {
		out.Resume = result.Resume.String()
	}
	_ = x.print(out, out.text) // run reports it, unless the import has failed too
	if err == nil && out == (imported{}) && !x.json {
		x.note("there was no key to write")
	}
	if out.Resume != "" && !x.json {
		x.note("to go on, run the same command with --resume %s", out.Resume)
	}
	if errors.Is(err, load.ErrExists) {
		err = fmt.Errorf("%w; --on-conflict skip leaves such keys alone, and overwrite replaces them", err)
	}
	return importEnded(err)
}

// importEnded adds to err that a signal or the time limit has ended the import, if that is so.
func importEnded(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the time limit was reached before every key was written (%w); give more time with --timeout, or "+
			"leave it out", err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted before every key was written (%w)", err)
	}
	return err
}

func (i *imported) text(w io.Writer) error {
	text := output.Plural(uint64(i.Written), "key") + " written"
	if i.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped because they exist", i.Skipped)
	}
	if i.Before > 0 {
		text += fmt.Sprintf(", %d settled before", i.Before)
	}
	if i.Unknown > 0 {
		text += fmt.Sprintf(", %d of unknown outcome", i.Unknown)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
