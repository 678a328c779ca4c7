/** The story the project exists for, on the real demo bundle, the real worker and the real server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoPage } from './support/demo-page.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type DemoServer, serveDemo } from './support/serve-demo.ts';

describe('the story', () => {
  let demo: DemoServer;
  let chromium: Chromium;

  beforeAll(async () => {
    demo = await serveDemo();
    chromium = await launchChromium();
  });
  afterAll(async () => {
    await chromium.close();
    await demo.remove();
  });

  it('[V8, W12] a workout, the server stopped, two more and an edit, the tab closed, the server back: all of it there, once', async () => {
    const desk = { width: 1280, height: 900 };
    const tab = await chromium.browser.newPage();
    await tab.setViewport(desk);
    await tab.goto(demo.url);
    const first = demoPage(tab);
    await first.signIn('Ada');
    await first.log({ exercise: 'Squat', weightKg: 60, sets: 5, reps: 5 });
    await first.whenHeadline('All saved');

    await demo.stop();
    await first.log({ exercise: 'Bench press', weightKg: 50, sets: 3, reps: 8 });
    await first.log({ exercise: 'Deadlift', weightKg: 100, sets: 3, reps: 5, note: 'grip' });
    await first.edit('Squat', { weightKg: 80 });
    await first.whenHeadline('3 waiting');
    await first.page.close();

    await demo.start();
    const second = demoPage(await chromium.openPage(demo.url));
    await second.whenHeadline('All saved');
    expect(await second.workouts()).toEqual(
      expect.arrayContaining([
        { exercise: 'Squat', weightKg: 80 },
        { exercise: 'Bench press', weightKg: 50 },
        { exercise: 'Deadlift', weightKg: 100 },
      ]),
    );
    expect(await second.workouts()).toHaveLength(3);
    const { applied, effects } = await demo.server.statistics('ada');
    expect(applied.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    expect(effects.map(({ kind }) => kind).sort()).toEqual([
      'workout.create',
      'workout.create',
      'workout.create',
      'workout.update',
    ]);
  });
});
