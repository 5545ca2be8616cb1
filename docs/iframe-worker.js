/* Search in pages that are opened from a folder. Browsers start no worker there, so the theme's search runs in a hidden
   frame, which is handed over in place of a worker. The theme takes this file for the shim of the same name that it would
   else ask another machine for. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...scripts) =>
        scripts.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
      this.ready = this.load(address);
    }

    load(address) {
      const script = this.inside.document.createElement("script");
      script.src = address;
      return new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
        this.inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
