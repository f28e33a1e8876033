package discord

import "sync"

// window is how many events may be at work at once. When it is full, the
// gateway is not read on.
const window = 64

// intake runs jobs: those of one channel in order, those of different channels
// side by side, so that many can share one write to the disk.
type intake struct {
	slots   chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	lanes   map[string][]func() // what waits behind the job that runs; a lane exists while one does
}

func newIntake() *intake {
	return &intake{slots: make(chan struct{}, window), lanes: map[string][]func(){}}
}

// add hands over a job, waiting for a free place in the window.
func (i *intake) add(lane string, job func()) {
	i.slots <- struct{}{}
	i.mu.Lock()
	defer i.mu.Unlock()
	if waiting, ok := i.lanes[lane]; ok {
		i.lanes[lane] = append(waiting, job)
		return
	}
	i.lanes[lane] = nil
	i.running.Go(func() { i.work(lane, job) })
}

func (i *intake) work(lane string, job func()) {
	for job != nil {
		job()
		<-i.slots
		job = i.next(lane)
	}
}

func (i *intake) next(lane string) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	waiting := i.lanes[lane]
	if len(waiting) == 0 {
		delete(i.lanes, lane)
		return nil
	}
	i.lanes[lane] = waiting[1:]
	return waiting[0]
}

// wait returns when all jobs are over.
func (i *intake) wait() { i.running.Wait() }
