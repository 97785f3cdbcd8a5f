// The theme searches in a worker, which browsers refuse to a page that is opened from a disk. There a hidden frame runs the
// worker's script instead. mkdocs' offline plugin leaves its own, from the network, out where a file of this name is given.
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((ready) => {
        frame.addEventListener("load", () => {
          this.inside = frame.contentWindow;
          // as late as from a worker: the page listens for an answer only after it has asked
          this.inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
          const script = this.inside.document.createElement("script");
          script.addEventListener("load", ready);
          script.src = url;
          this.inside.document.head.append(script);
        }, { once: true });
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
