package members

import "slices"

// operations are the operations of a record.
type operations []Operation

// begin adds an operation that runs, and forgets the oldest finished one beyond MaxOperations.
func (list *operations) begin(o Operation) {
	o.State, o.Name, o.Problem = Running, "", ""
	if n := len(*list); n >= MaxOperations {
		*list = slices.Delete(*list, 0, n-MaxOperations)
	}
	*list = append(*list, o)
}

// running returns the operation that runs, to be changed in place, or nil.
func (list *operations) running() *Operation {
	if n := len(*list); n > 0 && (*list)[n-1].State == Running {
		return &(*list)[n-1]
	}
	return nil
}

// end ends the operation that runs.
func (list *operations) end(s State, problem string) {
	o := list.running()
	o.State, o.Problem = s, problem
	if n := len(*list); n > MaxOperations {
		*list = slices.Delete(*list, 0, n-MaxOperations)
	}
}
